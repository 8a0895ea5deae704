import { locale } from '@/i18n/format'

/** The day of a time in Unix seconds. */
export const day = (at: number) =>
  new Date(at * 1000).toLocaleDateString(locale, { year: 'numeric', month: 'short', day: 'numeric' })

/** The day and time of a time in Unix seconds. */
export const moment = (at: number) =>
  new Date(at * 1000).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' })
