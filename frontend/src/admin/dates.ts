import { locale } from '@/i18n/format'

/** A day, of Unix seconds. */
export const day = (at: number) =>
  new Date(at * 1000).toLocaleDateString(locale, { year: 'numeric', month: 'short', day: 'numeric' })

/** A moment, of Unix seconds. */
export const moment = (at: number) =>
  new Date(at * 1000).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' })
