// While a page is hidden the browser draws nothing; this is how often it still
// takes in what arrived, for the title and the favicon.
const HIDDEN_MS = 250

/**
 * A FrameQueue hands over what arrived once for each animation frame, so that a
 * burst costs one rendering.
 */
export class FrameQueue<T> {
  private waiting: T[] = []
  private cancel: (() => void) | null = null

  constructor(
    private readonly apply: (frames: T[]) => void,
    private readonly hidden: () => boolean = () => document.hidden,
  ) {}

  push(frame: T): void {
    this.waiting.push(frame)
    if (this.cancel) return
    if (this.hidden()) {
      const timer = setTimeout(() => this.flush(), HIDDEN_MS)
      this.cancel = () => clearTimeout(timer)
    } else {
      const handle = requestAnimationFrame(() => this.flush())
      this.cancel = () => cancelAnimationFrame(handle)
    }
  }

  /** Hands over now. A page that is about to be hidden gets no more animation frames. */
  flush(): void {
    this.cancel?.()
    this.cancel = null
    if (this.waiting.length === 0) return
    const frames = this.waiting
    this.waiting = []
    this.apply(frames)
  }
}
