// WebKitGTK as a distribution packages it. Playwright drives only a WebKit that it has patched
// itself, so this speaks WebDriver, in as many commands as the flows beside it need. What a
// page holds is found as app.ts finds it, by role, name and text. What pages say on their consoles
// is not seen: WebDriver does not tell.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { expect } from '../fixtures.ts'
import { webkit } from '../machine.ts'
import { freePort } from '../server.ts'

/** Names what is in a page: the first that is visible and matches all that is given. */
export interface What {
  css?: string
  role?: string
  name?: string | RegExp
  text?: string | RegExp
  in?: What
}
export const role = (role: string, name?: string | RegExp, inside?: What): What => ({ role, name, in: inside })
export const words = (text: string | RegExp, inside?: What): What => ({ text, in: inside })

/** What the person's desktop has chosen. */
export interface Desktop {
  dark?: boolean
  still?: boolean // no animations
}

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
type Reference = { [ELEMENT]: string }
const KEYS: Record<string, string> = {
  Control: '\uE009',
  Alt: '\uE00A',
  Shift: '\uE008',
  Enter: '\uE007',
  Escape: '\uE00C',
  Tab: '\uE004',
  Space: ' ',
  ArrowDown: '\uE015',
  ArrowUp: '\uE013',
}
// A button that decides takes no press before it was in its place for so long.
const STILL_MS = 700
// No command takes so long but one that hangs.
const COMMAND_MS = 30_000

export class WebKit {
  private last: Promise<unknown> = Promise.resolve()
  private current = ''
  private first?: string // stays open, as the last that closes ends all
  private constructor(
    private readonly url: string,
    private readonly children: ChildProcess[],
    private readonly folder: string,
  ) {}

  static async start({ dark = false, still = true }: Desktop = {}): Promise<WebKit> {
    const folder = mkdtempSync(join(tmpdir(), 'sayso-webkit-'))
    mkdirSync(join(folder, 'gtk-3.0'))
    writeFileSync(join(folder, 'gtk-3.0', 'settings.ini'), `[Settings]\ngtk-enable-animations=${!still}\n`)
    const screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    })
    const [number] = (await once(createInterface({ input: screen.stdio[3] as NodeJS.ReadableStream }), 'line')) as [
      string,
    ]
    const port = await freePort()
    const driver = spawn(webkit().split('\n')[0]!, [`--port=${port}`, '--host=127.0.0.1'], {
      env: {
        PATH: process.env.PATH,
        LANG: 'C.UTF-8',
        HOME: folder,
        XDG_CONFIG_HOME: folder,
        XDG_RUNTIME_DIR: folder,
        DISPLAY: `:${number}`,
        GDK_BACKEND: 'x11',
        GTK_THEME: dark ? 'Adwaita:dark' : 'Adwaita',
        NO_AT_BRIDGE: '1',
        LIBGL_ALWAYS_SOFTWARE: '1',
        WEBKIT_DISABLE_DMABUF_RENDERER: '1',
      },
      stdio: 'ignore',
    })
    await expect
      .poll(() =>
        fetch(`http://127.0.0.1:${port}/status`).then(
          (r) => r.ok,
          () => false,
        ),
      )
      .toBe(true)
    const answer = await fetch(`http://127.0.0.1:${port}/session`, {
      method: 'POST',
      body: JSON.stringify({ capabilities: { alwaysMatch: {} } }),
    })
    const { value } = (await answer.json()) as { value: { sessionId?: string; message?: string } }
    if (!value.sessionId) throw new Error(`WebKit does not start: ${value.message}`)
    return new WebKit(`http://127.0.0.1:${port}/session/${value.sessionId}`, [driver, screen], folder)
  }

  async stop(): Promise<void> {
    await fetch(this.url, { method: 'DELETE' })
    for (const child of this.children) {
      const gone = once(child, 'exit')
      child.kill()
      await gone
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }

  private async send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, {
      method,
      signal: AbortSignal.timeout(COMMAND_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { value } = (await answer.json()) as { value: T & { error?: string; message?: string } }
    if (!answer.ok) throw new Error(`${method} ${path}: ${value.error} ${value.message}`)
    return value
  }

  /** Sends a command to a window; commands wait for each other. */
  command<T>(window: string, method: string, path: string, body?: unknown): Promise<T> {
    const run = async () => {
      if (this.current !== window) await this.send('POST', '/window', { handle: window })
      this.current = window
      return this.send<T>(method, path, body)
    }
    const done = this.last.then(run, run)
    this.last = done.catch(() => undefined)
    return done
  }

  /** Opens a window of this size, px. */
  async open(width = 1280, height = 800): Promise<Tab> {
    this.first ??= await this.send<string>('GET', '/window')
    const { handle } = await this.command<{ handle: string }>(this.first, 'POST', '/window/new', { type: 'window' })
    const tab = new Tab(this, handle)
    await tab.resize(width, height)
    return tab
  }
}

/** A window, and the page in it. */
export class Tab {
  constructor(
    private readonly browser: WebKit,
    private readonly handle: string,
  ) {}

  private send = <T>(method: string, path: string, body?: unknown) =>
    this.browser.command<T>(this.handle, method, path, body)
  close = () => this.send<string[]>('DELETE', '/window')
  goto = (url: string) => this.send<null>('POST', '/url', { url })
  url = () => this.send<string>('GET', '/url')
  reload = () => this.send<null>('POST', '/refresh', {})
  picture = async () => Buffer.from(await this.send<string>('GET', '/screenshot'), 'base64')

  /** Gives the page itself this size: what the window has around it comes on top. */
  async resize(width: number, height: number): Promise<void> {
    await expect(async () => {
      const [w, h] = await this.evaluate(() => [innerWidth, innerHeight] as const)
      if (w === width && h === height) return
      const rect = await this.send<{ width: number; height: number }>('GET', '/window/rect')
      await this.send('POST', '/window/rect', { width: rect.width + width - w, height: rect.height + height - h })
      expect(await this.evaluate(() => [innerWidth, innerHeight])).toEqual([width, height])
    }).toPass({ timeout: 10_000 })
  }

  evaluate<T, A extends unknown[]>(script: (...args: A) => T, ...args: A): Promise<T> {
    return this.send<T>('POST', '/execute/sync', { script: `return (${script}).apply(null, arguments)`, args })
  }

  find(what: What): Promise<Reference | null> {
    const plain = (one: What): object => ({
      ...one,
      name: one.name instanceof RegExp ? { source: one.name.source, flags: one.name.flags } : one.name,
      text: one.text instanceof RegExp ? { source: one.text.source, flags: one.text.flags } : one.text,
      in: one.in && plain(one.in),
    })
    return this.evaluate(findIn as (what: object) => Reference | null, plain(what))
  }

  see = (what: What) => expect.poll(() => this.find(what).then(Boolean), { message: `seen: ${say(what)}` }).toBe(true)
  gone = (what: What) => expect.poll(() => this.find(what).then(Boolean), { message: `gone: ${say(what)}` }).toBe(false)

  // A hand that rests where a button comes presses nothing: it leaves first.
  private far = false
  private leave = () =>
    this.send('POST', '/actions', {
      actions: [
        {
          type: 'pointer',
          id: 'mouse',
          actions: [{ type: 'pointerMove', x: (this.far = !this.far) ? 4 : 44, y: 4, duration: 0, origin: 'viewport' }],
        },
      ],
    })

  /** Presses what can be pressed and has come to rest. */
  async click(what: What): Promise<void> {
    await expect(async () => {
      await this.leave()
      const found = await this.find(what)
      if (!found) throw new Error(`${say(what)} is not there`)
      const place = () =>
        this.evaluate((el) => {
          const at = el as unknown as HTMLElement
          at.scrollIntoView({ block: 'nearest' })
          const { x, y } = at.getBoundingClientRect()
          return at.closest('[aria-disabled=true], :disabled') ? 'disabled' : `${x} ${y}`
        }, found as unknown)
      const before = await place()
      expect(before, say(what)).not.toBe('disabled')
      await new Promise((r) => setTimeout(r, STILL_MS))
      expect(await place()).toBe(before)
      await this.send('POST', `/element/${found[ELEMENT]}/click`, {})
    }).toPass({ timeout: 30_000 })
  }

  /** Puts a text into a field, as a paste does. */
  async fill(what: What, value: string): Promise<void> {
    await this.see(what)
    await this.evaluate(
      (el, value) => {
        const field = el as unknown as HTMLTextAreaElement
        field.focus()
        field.select()
        document.execCommand('insertText', false, value)
      },
      (await this.find(what)) as unknown,
      value,
    )
  }

  /** Gives files to a field for files, wherever it is. */
  async attach(css: string, path: string): Promise<void> {
    const found = await this.send<Reference>('POST', '/element', { using: 'css selector', value: css })
    await this.send('POST', `/element/${found[ELEMENT]}/value`, { text: path })
  }

  /** Presses keys one after the other, each with what is held: 'Control+k'. */
  async press(...all: string[]): Promise<void> {
    for (const one of all) {
      const keys = one === '+' ? ['+'] : one.split('+').map((key) => KEYS[key] ?? key)
      const actions = [
        ...keys.map((value) => ({ type: 'keyDown', value })),
        ...keys.toReversed().map((value) => ({ type: 'keyUp', value })),
      ]
      await this.send('POST', '/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] })
    }
  }
  type = (text: string) => this.press(...[...text].map((c) => (c === ' ' ? 'Space' : c)))
}

const say = ({ css, role, name, text, in: inside }: What): string =>
  [css, role, name && `“${name}”`, text && `with “${text}”`, inside && `in ${say(inside)}`].filter(Boolean).join(' ')

// Runs in the page, so it needs nothing from outside.
function findIn(what: What): Element | null {
  type Pattern = string | { source: string; flags: string }
  const ROLES: Record<string, string> = {
    A: 'link',
    BUTTON: 'button',
    DIALOG: 'dialog',
    LI: 'listitem',
    NAV: 'navigation',
    OPTION: 'option',
    SELECT: 'combobox',
    TEXTAREA: 'textbox',
  }
  const roleOf = (el: Element) =>
    el.getAttribute('role') ??
    (el instanceof HTMLInputElement
      ? ['checkbox', 'radio'].includes(el.type)
        ? el.type
        : 'textbox'
      : /^H[1-6]$/.test(el.tagName)
        ? 'heading'
        : ROLES[el.tagName])
  const tidy = (text: string) => text.replace(/\s+/g, ' ').trim()
  const heard = (node: Node): string =>
    node instanceof Element && node.getAttribute('aria-hidden') === 'true'
      ? ''
      : node instanceof Text
        ? node.data
        : node instanceof Element && node.hasAttribute('aria-label')
          ? node.getAttribute('aria-label')!
          : [...node.childNodes].map(heard).join(' ')
  const nameOf = (el: Element) => {
    const by = el.getAttribute('aria-labelledby')
    if (by)
      return by
        .split(/\s+/)
        .map((id) => tidy(document.getElementById(id)?.textContent ?? ''))
        .join(' ')
    if (el.hasAttribute('aria-label')) return el.getAttribute('aria-label')!
    const labels = (el as HTMLInputElement).labels
    if (labels?.length) return tidy([...labels].map(heard).join(' '))
    return tidy(heard(el)) || el.getAttribute('placeholder') || ''
  }
  const fits = (pattern: Pattern, text: string, whole: boolean) =>
    typeof pattern !== 'string'
      ? new RegExp(pattern.source, pattern.flags).test(text)
      : whole
        ? text === pattern
        : text.includes(pattern)
  const visible = (el: Element) => {
    const { width, height } = el.getBoundingClientRect()
    return width > 0 && height > 0 && el.checkVisibility({ visibilityProperty: true })
  }
  const all = (one: What): Element[] => {
    const roots: ParentNode[] = one.in ? all(one.in) : [document]
    const found = roots
      .flatMap((root) => [...root.querySelectorAll(one.css ?? '*')])
      .filter(
        (el) =>
          (one.role === undefined || roleOf(el) === one.role) &&
          (one.text === undefined || fits(one.text as Pattern, tidy(el.textContent ?? ''), false)) &&
          (one.name === undefined || fits(one.name as Pattern, nameOf(el), true)) &&
          visible(el),
      )
    // Of what is known by its text alone, the innermost.
    return one.css || one.role
      ? found
      : found.filter((el) => !found.some((other) => other !== el && el.contains(other)))
  }
  return all(what)[0] ?? null
}
