// A server inside the page: what a frame costs the app is measured without the
// time it takes to reach the browser.
import type { Page } from '@playwright/test'

export type Frame = Record<string, unknown>

declare global {
  interface Window {
    deliver(frame: Frame): void
    /** Delivers and tells how long it took until a selector matched, and until the frame after it, in ms. */
    until(frame: Frame, selector: string): Promise<{ inDOM: number; painted: number }>
    /** How many frames of the screen `turns` calls took, one call each. */
    turn(turns: number, what: string): Promise<number>
  }
}

/** Gives the page a socket whose other end is window.deliver. */
export async function takeSocket(page: Page, states: Frame[], transcripts: Record<string, Frame[]>): Promise<void> {
  // As text already: a server makes it on a processor of its own, and not in the page.
  const answers = Object.fromEntries(
    Object.entries(transcripts).map(([session_id, items]) => [
      session_id,
      JSON.stringify({
        type: 'transcript',
        session_id,
        from: 0,
        next: items.length,
        items,
        total: items.length,
        live: null,
      }),
    ]),
  )
  await page.addInitScript(
    ({ states, answers }) => {
      let open: FakeSocket | null = null
      class FakeSocket extends EventTarget {
        static readonly CONNECTING = 0
        static readonly OPEN = 1
        static readonly CLOSING = 2
        static readonly CLOSED = 3
        readyState = 0
        bufferedAmount = 0
        binaryType = 'blob'
        onopen: ((ev: Event) => void) | null = null
        onmessage: ((ev: MessageEvent) => void) | null = null
        onclose: ((ev: Event) => void) | null = null
        onerror: ((ev: Event) => void) | null = null
        constructor(readonly url: string) {
          super()
          open = this
          setTimeout(() => {
            this.readyState = 1
            this.tell('open', new Event('open'))
            this.give({
              type: 'hello',
              protocol: 1,
              server_version: 'bench',
              node_id: 'bench',
              user: { name: 'admin', role: 'admin' },
              server_time: Date.now() / 1000,
            })
            this.give({ type: 'active_processes', processes: states })
          })
        }
        tell(kind: 'open' | 'message', ev: Event) {
          this.dispatchEvent(ev)
          if (kind === 'open') this.onopen?.(ev)
          else this.onmessage?.(ev as MessageEvent)
        }
        give(frame: Frame | string) {
          this.tell(
            'message',
            new MessageEvent('message', { data: typeof frame === 'string' ? frame : JSON.stringify(frame) }),
          )
        }
        send(data: string) {
          const command = JSON.parse(data) as { type: string; command_id: string; session_id?: string }
          const answer = answers[command.session_id ?? '']
          if (command.type === 'subscribe' && answer) this.give(answer)
          this.give({ type: 'ack', command_id: command.command_id, result: 'applied' })
        }
        close() {
          this.readyState = 3
        }
      }
      Object.assign(window, { WebSocket: FakeSocket })
      window.deliver = (frame) => open?.give(frame)
      window.until = (frame, selector) =>
        new Promise((done) => {
          const from = performance.now()
          const seen = new MutationObserver(() => {
            if (!document.querySelector(selector)) return
            seen.disconnect()
            const inDOM = performance.now() - from
            requestAnimationFrame(() => setTimeout(() => done({ inDOM, painted: performance.now() - from })))
          })
          seen.observe(document, { subtree: true, childList: true, attributes: true })
          open?.give(frame)
        })
      window.turn = (turns, what) =>
        new Promise((done) => {
          let frames = 0
          const step = () => {
            if (frames++ === turns) return done(turns)
            if (what === 'up' || what === 'down')
              document.querySelector('[role=feed]')!.scrollBy(0, what === 'up' ? -240 : 240)
            requestAnimationFrame(step)
          }
          requestAnimationFrame(step)
        })
    },
    { states, answers },
  )
}
