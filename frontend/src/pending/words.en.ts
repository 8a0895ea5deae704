import { count } from '@/i18n'

// The words of the cards that are loaded beside the first screen: they would only
// make that larger.

const range = (least: number | undefined, most: number | undefined, unit = ''): string => {
  const of = unit && ` ${unit}`
  if (least !== undefined && most !== undefined) return least === most ? `${least}${of}` : `${least} to ${most}${of}`
  if (least !== undefined) return `at least ${least}${of}`
  return most === undefined ? '' : `at most ${most}${of}`
}

/** The words of the bounds of a question, as far as they are needed. */
interface Bounds {
  minimum?: number
  maximum?: number
  min_length?: number
  max_length?: number
  min_items?: number
  max_items?: number
}

export const words = {
  plan: {
    approveAsk: 'Approve, ask before edits',
    approveEdits: 'Approve, auto-accept edits',
    keepPlanning: 'Keep planning',
    keepPlanningDefault: 'Keep planning. Do not start yet.',
    feedback: 'What should be different? (optional)',
    feedbackExample: 'For example: leave the database alone',
  },

  questionsForm: 'Questions',
  numberOf: (i: number, n: number) => `${i} of ${n}`,
  progress: (done: number, all: number) => `${done} of ${all} answered`,
  required: '(required)',
  optional: '(optional)',
  chooseAny: 'Choose any number',
  choose: (b: Bounds) => `Choose ${range(b.min_items, b.max_items)}`,
  format: (format: string | undefined, b: Bounds) => {
    const name = ({
      number: 'A number', integer: 'A whole number', email: 'An e-mail address', uri: 'An address such as https://…',
      date: 'A date', 'date-time': 'A date and time such as 2026-01-31T14:00:00Z',
    })[format ?? ''] ?? ''
    const between = range(b.minimum, b.maximum)
    const numbers = between && (b.minimum !== undefined && b.maximum !== undefined ? ` from ${between}` : `, ${between}`)
    const length = range(b.min_length, b.max_length, 'characters')
    return name + numbers + (name && length ? ', ' : '') + length
  },
  clear: 'Clear',
  clearNamed: (question: string) => `Clear: ${question}`,
  previewOf: (label: string) => `Preview of ${label}`,
  fault: {
    missing: () => 'This needs an answer.',
    other: () => 'Write your answer, or choose an option.',
    number: () => 'This must be a number, such as 12 or 1.5.',
    integer: () => 'This must be a whole number.',
    email: () => 'This must be an e-mail address.',
    uri: () => 'This must be an address, such as https://example.org.',
    date: () => 'This must be a date, such as 2026-01-31.',
    'date-time': () => 'This must be a date and time, such as 2026-01-31T14:00:00Z.',
    low: (b: Bounds) => `This must be at least ${b.minimum}.`,
    high: (b: Bounds) => `This must be at most ${b.maximum}.`,
    short: (b: Bounds) => `This must have at least ${count(b.min_length ?? 0, 'character', 'characters')}.`,
    long: (b: Bounds) => `This must have at most ${count(b.max_length ?? 0, 'character', 'characters')}.`,
    few: (b: Bounds) => `Choose at least ${b.min_items}.`,
    many: (b: Bounds) => `Choose at most ${b.max_items}.`,
  },
  other: 'Other',
  otherAnswer: (question: string) => `Other: ${question}`,
  otherExample: 'Your own answer',
  missing: (n: number, all: number) => (all === 1 ? 'Needs an answer' : n === 1 ? 'Answer 1 more question' : `Answer ${n} more questions`),
  submit: 'Submit answers',
  decline: 'Decline',
  declineReason: (who: string) => `Message for ${who === 'Claude' ? who : who.replace(/^T/, 't')} (optional)`,
  declineServer: (name: string) => `Decline? ${name} is told that you declined, and nothing else.`,
  toServer: (name: string) => `What you answer goes to the MCP server “${name}”.`,
  visit: {
    leadsTo: 'The address leads to',
    open: 'Open the page',
    done: 'Done',
    cannot: 'Only http and https addresses can be opened from here.',
    hint: 'Nothing is opened until you press the button. Press Done when you have finished there.',
  },
  declineExample: 'For example: decide yourself',
  unreadable: 'These questions cannot be shown as a form, so they can only be declined.',
  confirm: { yes: 'Yes', no: 'No' },
}
