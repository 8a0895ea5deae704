// The parts of most cards in one chunk, because a browser opens only six connections.
export { default as RequestDock } from './RequestDock.vue'
export { default as KeyHint } from './KeyHint.vue'
