import { decimal, locale } from '@/i18n/format'

const encoder = new TextEncoder()

/** Formats the size of a text in UTF-8 bytes. */
export function bytesOf(text: string): string {
  return bytes(encoder.encode(text).length)
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`
  if (n < 1024 * 1024) return `${decimal(n / 1024, n < 10 * 1024 ? 1 : 0)} kB`
  if (n < 1024 ** 3) return `${decimal(n / 1024 / 1024, 1)} MB`
  return `${decimal(n / 1024 ** 3, 1)} GB`
}

/** Formats a duration in its two largest units: "0.3 s", "2 min", "1 h 5 min", "3 days"; "" if it is too short. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds)
  if (s > 0 && s < 0.05) return ''
  if (s < 10 && s % 1 !== 0) return `${decimal(s, 1)} s`
  if (s < 60) return `${Math.floor(s)} s`
  const minutes = Math.floor(s / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return new Intl.NumberFormat(locale, { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(
    Math.floor(hours / 24),
  )
}

/** Formats a countdown in minutes and seconds: "3:05". */
export function countdown(seconds: number): string {
  const s = Math.max(0, Math.ceil(seconds))
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`
}

export function compact(n: number): string {
  return new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(n)
}
