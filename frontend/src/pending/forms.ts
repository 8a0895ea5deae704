import { defineAsyncComponent, shallowReactive, type Component } from 'vue'

// What the first screen can wait a moment for. It is fetched while that is drawn,
// so that a form that comes later is there at once: an async component would take
// a turn even then, and a notice must have the focus before the next key.
type Name = 'ToolApproval' | 'QuestionForm' | 'PlanApproval' | 'DepartedNotice' | 'EarlierAnswer' | 'DraftMerge'
export const forms = shallowReactive<Partial<Record<Name, Component>>>({})

const AGAIN_MS = 2_000

async function load(name: Name, fetch: () => Promise<{ default: Component }>): Promise<void> {
  try {
    forms[name] = (await fetch()).default
  } catch {
    // A question that nobody sees is the worst that can be, so there is no last attempt.
    setTimeout(() => void load(name, fetch), AGAIN_MS)
  }
}

export const loaded = Promise.all([
  load('ToolApproval', () => import('./ToolApproval.vue')),
  load('QuestionForm', () => import('./QuestionForm.vue')),
  load('PlanApproval', () => import('./PlanApproval.vue')),
  load('DepartedNotice', () => import('./DepartedNotice.vue')),
  load('DraftMerge', () => import('./DraftMerge.vue')),
  load('EarlierAnswer', () => import('./EarlierAnswer.vue')),
])

// Rare enough to be fetched when there is one.
export const Visit = defineAsyncComponent(() => import('./Visit.vue'))
