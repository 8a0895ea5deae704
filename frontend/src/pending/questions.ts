// Questions, plans and the rare parts of cards. They are fetched together with cards.ts, but the first paint
// does not wait for their styles.
export { default as QuestionForm } from './QuestionForm.vue'
export { default as PlanApproval } from './PlanApproval.vue'
export { default as Batches } from './Batches.vue'
export { default as ClosedNotice } from './ClosedNotice.vue'
export { default as DraftMerge } from './DraftMerge.vue'
export { default as EarlierAnswer } from './EarlierAnswer.vue'
