// How long frames wait when the browser draws nothing: while a page is hidden,
// and also while it says that it is shown and is not, as behind another window.
const STILL_MS = 250

/**
 * A FrameQueue hands over what arrived once for each animation frame, so that a
 * burst costs one rendering. What a person waits for is handed over at once, with
 * all that came before it, but only once in each animation frame.
 */
export class FrameQueue<T> {
  private waiting: T[] = []
  private cancel: (() => void) | null = null
  // Whether something was handed over before its turn in this animation frame.
  private hurried = false

  constructor(
    private readonly apply: (frames: T[]) => void,
    private readonly hidden: () => boolean = () => document.hidden,
  ) {}

  push(frame: T, urgent = false): void {
    this.waiting.push(frame)
    if (!this.cancel) this.wait()
    // The animation frame is waited for all the same: a storm of urgent ones costs
    // two renderings in each, not one for every one of them.
    if (!urgent || this.hurried) return
    this.hurried = true
    this.hand()
  }

  /** Hands over now. A page that is about to be hidden gets no more animation frames. */
  flush(): void {
    this.cancel?.()
    this.cancel = null
    this.hurried = false
    this.hand()
  }

  private wait(): void {
    const timer = setTimeout(() => this.flush(), STILL_MS)
    const handle = this.hidden() ? null : requestAnimationFrame(() => this.flush())
    this.cancel = () => {
      clearTimeout(timer)
      if (handle !== null) cancelAnimationFrame(handle)
    }
  }

  private hand(): void {
    if (this.waiting.length === 0) return
    const frames = this.waiting
    this.waiting = []
    this.apply(frames)
  }
}
