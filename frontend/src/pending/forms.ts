import { ref, shallowReactive, type Component } from 'vue'
import type { unsentText } from './unsent'

type Name =
  | 'ToolApproval'
  | 'QuestionForm'
  | 'PlanApproval'
  | 'ClosedNotice'
  | 'DraftMerge'
  | 'Outcome'
  | 'DockBar'
  | 'KeyHint'
  | 'EarlierAnswer'

/** forms holds what cards.ts exports once loadForms.ts has fetched it. */
export const forms = shallowReactive<Partial<Record<Name, Component>> & { unsentText?: typeof unsentText }>({})

/** tried is true once the first attempt to fetch them has ended. */
export const tried = ref(false)
