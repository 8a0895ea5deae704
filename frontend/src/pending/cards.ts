// What is shown of a request, in one chunk: all of it is fetched together, and a
// browser has six connections.
export { default as ToolApproval } from './ToolApproval.vue'
export { default as QuestionForm } from './QuestionForm.vue'
export { default as PlanApproval } from './PlanApproval.vue'
export { default as ClosedNotice } from './ClosedNotice.vue'
export { default as DraftMerge } from './DraftMerge.vue'
export { default as Outcome } from './Outcome.vue'
export { default as DockBar } from './DockBar.vue'
export { default as KeyHint } from './KeyHint.vue'
export { default as EarlierAnswer } from './EarlierAnswer.vue'
export { unsentText } from './unsent'
