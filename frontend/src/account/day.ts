import { locale } from '@/i18n/format'

/** The day of a time in Unix seconds. */
export const day = (at: number): string =>
  new Date(at * 1000).toLocaleDateString(locale, { year: 'numeric', month: 'short', day: 'numeric' })
