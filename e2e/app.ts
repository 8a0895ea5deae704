// The app as a person sees it: what there is to read and to press, by role and
// name. Selectors live here and nowhere else.
import { expect, type Locator, type Page } from '@playwright/test'

// A button that decides takes no press before it was in its place for so long.
const STILL_MS = 600

export class App {
  private constructor(readonly page: Page) {}

  /** The app in a page that has it open already. */
  static of(page: Page): App {
    return new App(page)
  }

  static async home(page: Page, url: string): Promise<App> {
    await page.goto(`${url}/`)
    return new App(page)
  }

  // Opens the view of a session; at is another address of the same server.
  static async openSession(page: Page, session: string, at?: string): Promise<App> {
    await page.goto(`${at ?? ''}/sessions/${session}`)
    return new App(page)
  }

  // Fills in the form for a new session and sends it.
  static async newSession(page: Page, url: string, folder: string, words: string): Promise<App> {
    const app = await App.home(page, url)
    await page
      .getByRole('link', { name: 'New session' })
      .or(page.getByRole('button', { name: 'New session' }))
      .first()
      .click()
    await page
      .getByRole('textbox', { name: 'Folder' })
      .or(page.getByRole('combobox', { name: 'Folder' }))
      .fill(folder)
    await page.getByRole('textbox', { name: /What should Claude do/ }).fill(words)
    await page.getByRole('button', { name: 'Start session' }).click()
    return app
  }

  static async expectSignedIn(page: Page) {
    await expect(page.getByRole('button', { name: 'Sign in' })).toBeHidden()
    await expect(page.getByRole('navigation')).toBeVisible()
  }
  static async expectSignedOut(page: Page) {
    await expect(page.getByText(/sign in/i).first()).toBeVisible()
    await expect(page.getByRole('navigation')).toBeHidden()
  }

  /** Waits until the page hears keys: what reads them comes after the first paint. */
  hearsKeys = () => expect(this.page.getByRole('region', { name: 'Skip links' })).toBeAttached()

  show = (session: string) => this.page.goto(`${new URL(this.page.url()).origin}/sessions/${session}`)

  // --- requests

  cards = () => this.page.locator('[data-request-id]')
  // The only card, or the one that holds a text.
  card = (text?: string) => (text === undefined ? this.cards() : this.cards().filter({ hasText: text }))

  /** What stands in the place of a card that was decided here. */
  outcome = () => this.page.locator('.outcome')
  /** Opens the card on a phone, where a session has a bar for it. */
  async review() {
    await this.page.locator('.bar.one').click()
  }

  approveButton = (card: Locator) => card.getByRole('button', { name: /^Approve( and allow)?…?$/ })
  submitButton = (card: Locator) => card.getByRole('button', { name: /^(Send answers|Answer \d+ more)$/ })

  // Presses a button that decides, as a person does: once it is in view and has come to rest. The app
  // ignores a press when the page moved the button meanwhile; then a person presses again.
  // `counted` says whether a press that seemed to be ignored counted after all: a second one would confirm.
  private async decide(button: Locator, counted = async () => !(await button.isVisible())) {
    let pressed = false
    await expect(async () => {
      if (pressed && (await counted())) return
      await button.scrollIntoViewIfNeeded({ timeout: 3_000 })
      await button.evaluate(
        (el, still) =>
          new Promise<void>((rest) => {
            const place = () => {
              const { x, y } = el.getBoundingClientRect()
              return `${Math.round(x)} ${Math.round(y)}`
            }
            let last = ''
            let since = 0
            const measure = () => {
              if (place() !== last) [last, since] = [place(), performance.now()]
              if (performance.now() - since > still || !el.isConnected) rest()
              else setTimeout(measure, 50) // to look in every frame would draw every frame
            }
            measure()
            const watch = window as { pressedInPlace?: boolean }
            watch.pressedInPlace = undefined
            addEventListener(
              'pointerdown',
              (ev) => {
                const pressed = (ev.target as Element).closest('button')
                watch.pressedInPlace = pressed === el && place() === last && el.getAttribute('aria-disabled') !== 'true'
              },
              { capture: true, once: true },
            )
          }),
        STILL_MS,
      )
      await button.click()
      pressed = true
      expect(await this.page.evaluate(() => (window as { pressedInPlace?: boolean }).pressedInPlace)).not.toBe(false)
    }).toPass()
  }
  async submit(card: Locator) {
    await this.decide(this.submitButton(await this.stays(card)))
  }
  async approve(card: Locator) {
    await this.decide(this.approveButton(await this.stays(card)))
  }
  async approvePlan(card: Locator) {
    await this.decide((await this.stays(card)).getByRole('button', { name: 'Approve and ask before edits' }))
  }
  async approveEdited(found: Locator, command: string) {
    const card = await this.stays(found)
    await this.choose(card, 'Edit')
    await card.getByRole('textbox').fill(command)
    // What is said of the edit comes a moment later and moves the buttons, which take
    // no press until its end was seen.
    await expect(card.getByRole('group', { name: 'Your changes' })).toBeVisible()
    await expect(card.getByRole('paragraph').filter({ hasText: /^(No risks detected|Medium risk)$/ })).toBeVisible()
    await this.approve(card)
  }
  /**
   * Finds a card by its request: one found by its text is lost when its body makes room, and in the
   * place of one that was decided the next is found.
   */
  private async stays(card: Locator) {
    await expect(card).toBeVisible()
    const id = await card.getAttribute('data-request-id')
    return this.page.locator(`[data-request-id="${id}"]`)
  }
  /** Chooses from the menu of a card. */
  async choose(card: Locator, name: string) {
    await card.getByRole('button', { name: 'More actions' }).click()
    await card.getByRole('button', { name, exact: true }).click()
  }
  async prepareDeny(card: Locator, reason: string) {
    const field = card.getByRole('textbox')
    await this.decide(this.denyButton(card), () => field.isVisible())
    await field.fill(reason)
  }
  private denyButton = (card: Locator) => card.getByRole('button', { name: 'Deny', exact: true })
  async confirmDeny(card: Locator) {
    await this.decide(this.denyButton(card))
  }
  // Presses at a moment of the clock, so that several pages press as one.
  async confirmDenyAt(card: Locator, moment: number) {
    await this.denyButton(card).evaluate(
      (button: HTMLElement, moment) =>
        new Promise<void>((resolve) =>
          setTimeout(() => {
            button.click()
            resolve()
          }, moment - Date.now()),
        ),
      moment,
    )
  }
  async deny(card: Locator, reason: string) {
    const same = await this.stays(card)
    await this.prepareDeny(same, reason)
    await this.confirmDeny(same)
    await expect(same).toHaveCount(0)
  }
  async decline(card: Locator, reason: string) {
    const decline = card.getByRole('button', { name: 'Decline', exact: true })
    const field = card.getByRole('textbox', { name: /^Message for/ })
    await this.decide(decline, () => field.isVisible())
    await field.fill(reason)
    await this.decide(decline)
  }

  question = (card: Locator, words: string) => card.getByRole('group', { name: words })
  otherField = (card: Locator, words: string) => this.question(card, words).getByRole('textbox')
  async other(card: Locator, words: string, answer: string) {
    await this.question(card, words).getByText('Other', { exact: true }).click()
    await this.otherField(card, words).fill(answer)
  }

  answeredElsewhere = () => this.page.getByText(/^Answered .*(just now|ago)/)

  // --- the session

  // What Claude said; the prompts of these tests hold the same words.
  said = (words: string | RegExp) => this.page.getByRole('feed').locator('.row.text').getByText(words).last()
  composer = () => this.page.getByRole('textbox', { name: 'Message to Claude' })
  async send(words: string) {
    await this.composer().fill(words)
    await this.page.getByRole('button', { name: /^(Send|Queue)/ }).click()
  }
  async interrupt() {
    await this.page.getByRole('button', { name: 'Interrupt' }).click()
  }
  // It is there as long as Claude does not run.
  resumeButton = () => this.page.getByRole('button', { name: 'Resume', exact: true })
  async resume() {
    await this.resumeButton().click()
  }
  // What is in the menu of the session.
  moreButton = () => this.page.getByRole('main').getByRole('button', { name: 'More', exact: true })
  async openKill() {
    await this.moreButton().click()
    await this.page.getByRole('button', { name: 'Kill…', exact: true }).click()
  }
  // One of the lists in the message field.
  async select(label: string, option: string | RegExp) {
    await this.page.getByRole('combobox', { name: label }).click()
    await this.page.getByRole('listbox', { name: label }).getByRole('option', { name: option }).click()
  }
  // Resumes a dead session and says something once it is there.
  async resumeAndSend(words: string) {
    await this.resume()
    await expect(this.resumeButton()).toHaveCount(0)
    await this.send(words)
  }
  async kill() {
    await this.openKill()
    await this.page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click()
  }
  dead = () =>
    this.page
      .getByRole('heading', { level: 1 })
      .locator('..')
      .getByText(/^(Ended|Failed)$/)
  problem = (sentence: RegExp) => this.page.getByText(sentence).filter({ visible: true }).first()
  reconnecting = () => this.page.getByText(/^Reconnecting|^No connection to the server/).first()
  waitingForYou = () =>
    this.page.getByRole('navigation', { name: 'Sessions' }).getByRole('link', { name: /^Needs you/ })
  async signOut() {
    await this.page.getByRole('link', { name: /^Account:/ }).click()
    await this.page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  }
  // Decides whatever asks next with yes, or the first option.
  async sayYes() {
    // Reading an attribute goes on to no next request; expecting something does.
    await expect(this.cards().first()).toBeVisible()
    const id = await this.cards().first().getAttribute('data-request-id')
    const card = this.page.locator(`[data-request-id="${id}"]`)
    for (const question of await card.getByRole('form').getByRole('group').all()) {
      const option = question.getByRole('radio').or(question.getByRole('checkbox')).first()
      if (await option.isVisible()) await option.check()
      else await question.getByRole('textbox').fill('As you like')
    }
    await this.decide(card.getByRole('button', { name: /^(Approve|Approve and ask before edits|Send answers)$/ }))
    await expect(card).toHaveCount(0)
  }
  demoButton = () => this.page.getByRole('button', { name: 'Try the demo session' }).filter({ visible: true })
}
