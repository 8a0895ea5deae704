// Rows of several items, in a chunk that the first screen does not need.
export { default as AgentGroup } from './AgentGroup.vue'
export { default as CallGroup } from './CallGroup.vue'
