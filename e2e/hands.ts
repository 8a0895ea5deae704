// A person without a pointer: whatever is done is done with keys, and after each
// of them the focus is somewhere, where it can be seen.
import { expect, type Locator, type Page } from '@playwright/test'

// Nothing on the way to what is to be reached is farther than this.
const MAX_TABS = 80

export class Hands {
  private constructor(readonly page: Page) {}

  /** For a page that has opened nothing yet; a press of any pointer in it fails the test. */
  static async on(page: Page): Promise<Hands> {
    await page.addInitScript(() => {
      for (const type of ['pointerdown', 'mousedown', 'touchstart'] as const) {
        addEventListener(type, (ev) => ev.isTrusted && console.error(`a pointer was used: ${type}`), { capture: true })
      }
    })
    return new Hands(page)
  }

  /** What is wrong with where the focus is; '' when nothing is. */
  private lost(): Promise<string> {
    return this.page.evaluate(() => {
      const at = document.activeElement
      if (!at || at === document.body || at === document.documentElement) return 'the focus is nowhere'
      const box = at.getBoundingClientRect()
      const ringed = (el: Element | null) => {
        if (!el) return false
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(el)
        return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) || boxShadow !== 'none'
      }
      // A heading is only where reading goes on; what is drawn in the place of a native control shows its ring.
      if (!at.matches('h1, h2, h3') && !ringed(at) && !ringed(at.closest('label')) && !ringed(at.parentElement))
        return `nothing shows that the focus is on ${at.outerHTML.slice(0, 200)}`
      if (box.width === 0 || box.height === 0)
        return `the focus is on what cannot be seen: ${at.outerHTML.slice(0, 200)}`
      return ''
    })
  }

  /** The focus is somewhere, and seen. */
  async seen(what = 'the focus'): Promise<void> {
    await expect.poll(() => this.lost(), { message: what }).toBe('')
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.page.keyboard.press(key)
      await this.seen(`after ${key}`)
    }
  }

  /** Two keys of which the first alone does nothing. */
  async go(letter: string): Promise<void> {
    await this.page.keyboard.press('g')
    await this.page.keyboard.press(letter)
  }

  async type(words: string): Promise<void> {
    await this.page.keyboard.type(words)
    await this.seen(`after “${words}”`)
  }

  /** Replaces what is in the field that has the focus. */
  async write(words: string): Promise<void> {
    await this.page.keyboard.press('Control+a')
    await this.type(words)
  }

  /** Goes on with Tab until something has the focus. */
  async to(what: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await expect(what).toBeVisible()
    for (let i = 0; i < MAX_TABS; i++) {
      await this.page.keyboard.press(key)
      // Before the first and after the last there is the browser itself.
      if (await what.evaluate((el) => el === document.activeElement)) return this.seen()
    }
    throw new Error(`${what} was not reached with ${MAX_TABS} times ${key}`)
  }

  async activate(what: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    await this.to(what, key)
    // What was just shown takes no decision yet.
    await expect(what).not.toHaveAttribute('aria-disabled')
    await this.page.keyboard.press('Enter')
  }
}
