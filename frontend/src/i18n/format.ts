// Formats numbers, plurals, lists and times in the current language.

/** With the person's region if known, because dates differ within a language. */
export let locale = 'en'

let plurals = new Intl.PluralRules(locale)
let lists = new Intl.ListFormat(locale)
let spans = new Intl.RelativeTimeFormat(locale, { style: 'short' })

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const
const shortUnits = () =>
  UNITS.map(([, unit]) => new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'narrow' }))
let units = shortUnits()

export function writeAs(language: string): void {
  locale = navigator.languages.find((l) => l.split('-')[0] === language) ?? language
  plurals = new Intl.PluralRules(locale)
  lists = new Intl.ListFormat(locale)
  spans = new Intl.RelativeTimeFormat(locale, { style: 'short' })
  units = shortUnits()
}

export function count(n: number, one: string, other: string): string {
  return `${n} ${plurals.select(n) === 'one' ? one : other}`
}

/** "a, b and c" */
export const list = (words: readonly string[]): string => lists.format(words)

/** "2 min. ago" */
export function ago(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds))
  if (s < 60) return spans.format(-s, 'second')
  if (s < 3600) return spans.format(-Math.floor(s / 60), 'minute')
  return spans.format(-Math.floor(s / 3600), 'hour')
}

/** A duration in its largest unit, abbreviated: "31s", "2m", "5d". */
export function age(seconds: number): string {
  const s = Math.max(1, Math.floor(seconds))
  const i = UNITS.findIndex(([length]) => s >= length)
  return units[i]!.format(Math.floor(s / UNITS[i]![0]))
}

/** The time of day; at is a Date or Unix seconds. */
export const clock = (at: Date | number): string =>
  (typeof at === 'number' ? new Date(at * 1000) : at).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' })

/** A number with this many decimals. */
export const decimal = (n: number, digits: number, options?: Intl.NumberFormatOptions): string =>
  n.toLocaleString(locale, {
    useGrouping: false,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    ...options,
  })
