import { ref, shallowReactive, type Component } from 'vue'

type Name =
  | 'ToolApproval'
  | 'QuestionForm'
  | 'PlanApproval'
  | 'ClosedNotice'
  | 'DraftMerge'
  | 'Outcome'
  | 'KeyHint'
  | 'EarlierAnswer'

/** forms holds the components of cards.ts once loadForms.ts has fetched them. */
export const forms = shallowReactive<Partial<Record<Name, Component>>>({})

/** tried is true once the first attempt to fetch them has ended. */
export const tried = ref(false)
