// How long frames wait if the browser draws nothing: while the page is hidden, or covered by
// another window although it counts as visible.
const HIDDEN_DELAY_MS = 250

/**
 * FrameQueue delivers the frames that arrived once per animation frame, so that a burst causes one
 * rendering. It delivers an urgent frame at once, with all frames before it, but only once per
 * animation frame.
 */
export class FrameQueue<T> {
  private waiting: T[] = []
  private cancel: (() => void) | null = null
  // Whether an urgent frame was delivered in this animation frame.
  private deliveredEarly = false

  constructor(
    private readonly apply: (frames: T[]) => void,
    private readonly hidden: () => boolean = () => document.hidden,
  ) {}

  push(frame: T, urgent = false): void {
    this.waiting.push(frame)
    if (!this.cancel) this.schedule()
    // The next animation frame stays scheduled: so many urgent frames cost two renderings per
    // animation frame, not one each.
    if (!urgent || this.deliveredEarly) return
    this.deliveredEarly = true
    this.deliver()
  }

  /** Delivers now. A page that is being hidden gets no more animation frames. */
  flush(): void {
    this.cancel?.()
    this.cancel = null
    this.deliveredEarly = false
    this.deliver()
  }

  private schedule(): void {
    const timer = setTimeout(() => this.flush(), HIDDEN_DELAY_MS)
    const handle = this.hidden() ? null : requestAnimationFrame(() => this.flush())
    this.cancel = () => {
      clearTimeout(timer)
      if (handle !== null) cancelAnimationFrame(handle)
    }
  }

  private deliver(): void {
    if (this.waiting.length === 0) return
    const frames = this.waiting
    this.waiting = []
    this.apply(frames)
  }
}
