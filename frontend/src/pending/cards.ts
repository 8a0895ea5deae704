// What most requests need, in one chunk: all of it is fetched together, and a
// browser has six connections.
export { default as RequestDock } from './RequestDock.vue'
export { default as KeyHint } from './KeyHint.vue'
