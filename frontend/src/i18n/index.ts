import { en, type Messages } from './messages.en'

/** The words of the app. Another language is another value of the same type. */
export const t: Messages = en
export { count } from './messages.en'
