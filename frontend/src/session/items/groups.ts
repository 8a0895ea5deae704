// Rows of several items: one chunk, beside the first screen.
export { default as AgentGroup } from './AgentGroup.vue'
export { default as CallGroup } from './CallGroup.vue'
