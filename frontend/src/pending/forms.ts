import { defineAsyncComponent } from 'vue'

// The cards and notices that the first screen can wait a moment for. They are fetched while
// it is drawn, so that a form that comes later finds them there.
const questions = import('./QuestionForm.vue')
const departed = import('./DepartedNotice.vue')
const plan = import('./PlanApproval.vue')

export const QuestionForm = defineAsyncComponent(() => questions)
export const PlanApproval = defineAsyncComponent(() => plan)
export const DepartedNotice = defineAsyncComponent(() => departed)
// Rare enough to be fetched when there is one.
export const Visit = defineAsyncComponent(() => import('./Visit.vue'))
