// What of a body was on screen. It is counted in strips of the height of a line, each
// of which must have been in view for a moment: jumping to the end shows no more than
// the end.

/** The height of a strip, in pixels. */
export const STRIP_PX = 20
/** How long a strip must be in view altogether, in milliseconds. */
export const LOOK_MS = 200
// What is left below the last line: the padding of its box.
const PADDING_PX = 24

/** A part of the content, in pixels from its top. */
export interface Span {
  top: number
  bottom: number
}

export interface Unseen {
  /** Where the first part begins that was not seen, in pixels. */
  top: number
  /** How much was not seen, in lines. */
  lines: number
}

/**
 * Strips records what of a content of some height was in view and for how long. With
 * another height it is another content, and begins anew.
 */
export class Strips {
  private times: number[] = []
  private height = 0

  /** Notes that a part of the content was in view for ms milliseconds. */
  add(view: Span, ms: number): void {
    this.each(view, (i) => (this.times[i]! += ms))
  }

  /** Whether the part that is in view has strips that need to be in view for longer. */
  needs(view: Span): boolean {
    let any = false
    this.each(view, (i) => (any ||= this.times[i]! < LOOK_MS))
    return any
  }

  /** What of the content was not seen, apart from what need not be; null when all of it was. */
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
      if (ms >= LOOK_MS || free.some((e) => middle >= e.top && middle <= e.bottom)) return
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

  /** Calls with each strip whose middle is in a part. */
  private each({ top, bottom }: Span, call: (i: number) => void): void {
    const from = Math.max(0, Math.floor(top / STRIP_PX) - 1)
    for (let i = from; i < this.times.length && i * STRIP_PX < bottom; i++) {
      const middle = this.middle(i)
      if (middle >= top && middle <= bottom) call(i)
    }
  }
}
