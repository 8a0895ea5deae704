import { ref, shallowReactive, type Component } from 'vue'

type Name =
  | 'RequestDock'
  | 'KeyHint'
  | 'QuestionForm'
  | 'PlanApproval'
  | 'Batches'
  | 'ClosedNotice'
  | 'DraftMerge'
  | 'EarlierAnswer'

/** forms holds what cards.ts and questions.ts export once loadForms.ts has fetched them. */
export const forms = shallowReactive<Partial<Record<Name, Component>>>({})

/** tried is true once the first attempt to fetch them has ended. */
export const tried = ref(false)
