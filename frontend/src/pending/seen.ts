// Which parts of a body were on screen, in strips of the height of a line. Each strip must have
// been in view for a moment, so jumping to the end shows only the end.

/** The height of a strip, in pixels. */
export const STRIP_PX = 20
/** How long a strip must be in view in total, in ms. */
export const SEEN_MS = 200
// The space below the last line: the padding of its box.
const PADDING_PX = 24

/** Span is a part of the content, in pixels from its top. */
export interface Span {
  top: number
  bottom: number
}

export interface Unseen {
  /** The top of the first unseen part, in pixels. */
  top: number
  /** The number of unseen lines. */
  lines: number
}

/**
 * Strips records which parts of a content were in view, and for how long. If the height changes,
 * the content has changed, and recording starts again.
 */
export class Strips {
  private times: number[] = []
  private height = 0

  /** Records that a part of the content was in view for ms milliseconds. */
  add(view: Span, ms: number): void {
    this.each(view, (i) => (this.times[i]! += ms))
  }

  /** Reports whether a part in view has strips that must be in view longer. */
  needs(view: Span): boolean {
    let any = false
    this.each(view, (i) => (any ||= this.times[i]! < SEEN_MS))
    return any
  }

  /** Returns what was not seen, except exempt parts; null if everything was. */
  unseen(height: number, exempt: readonly Span[] = []): Unseen | null {
    if (height !== this.height) {
      this.height = height
      this.times = Array.from({ length: Math.ceil(height / STRIP_PX) }, () => 0)
    }
    const free = exempt.map((e) => (height - e.bottom <= PADDING_PX ? { ...e, bottom: height } : e))
    let top = -1
    let lines = 0
    this.times.forEach((ms, i) => {
      const middle = this.middle(i)
      if (ms >= SEEN_MS || free.some((e) => middle >= e.top && middle <= e.bottom)) return
      if (top < 0) top = i * STRIP_PX
      lines++
    })
    return lines === 0 ? null : { top, lines }
  }

  reset(): void {
    this.height = 0
    this.times = []
  }

  private middle(i: number): number {
    return Math.min((i + 0.5) * STRIP_PX, (i * STRIP_PX + this.height) / 2)
  }

  /** Calls call with each strip whose middle is in a part. */
  private each({ top, bottom }: Span, call: (i: number) => void): void {
    const from = Math.max(0, Math.floor(top / STRIP_PX) - 1)
    for (let i = from; i < this.times.length && i * STRIP_PX < bottom; i++) {
      const middle = this.middle(i)
      if (middle >= top && middle <= bottom) call(i)
    }
  }
}
