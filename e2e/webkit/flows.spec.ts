// The most important flows in WebKit, as far as tests/ does not see them there.
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test as shared } from '../fixtures.ts'
import { program } from '../machine.ts'
import { cuttable } from '../proxy.ts'
import { ask, bash, play, prompt, question, text, tool, write } from '../script.ts'
import { type Server, startServer } from '../server.ts'
import { REST } from '../wire.ts'
import { role, type Tab, WebKit, type What, words } from './driver.ts'

const test = shared.extend<{ open: (path: string, at?: Server) => Promise<Tab>; own: Server }, { webkit: WebKit }>({
  webkit: [
    async ({}, use) => {
      const webkit = await WebKit.start()
      await use(webkit)
      await webkit.stop()
    },
    { scope: 'worker' },
  ],
  // Opens an address in a window of its own, signed in.
  open: async ({ webkit, server }, use, info) => {
    const tabs: Tab[] = []
    await use(async (path, at = server) => {
      const tab = await webkit.open()
      tabs.push(tab)
      if (signedIn !== at.url) {
        await tab.goto(`${at.url}/sign-in#${at.signInSecret()}`)
        await tab.see({ role: 'navigation' })
        await tab.evaluate(() => localStorage.setItem('sayso:undo', 'never'))
        signedIn = at.url
      }
      await tab.goto(at.url + path)
      return tab
    })
    for (const [i, tab] of tabs.entries()) {
      if (info.errors.length > 0) {
        const picture = await tab.picture().catch(() => Buffer.from(''))
        writeFileSync(info.outputPath(`window-${i}.png`), picture)
      }
      await tab.close()
    }
  },
  own: async ({ model }, use) => {
    const server = await startServer({ claudePath: program('claudetest'), modelURL: model.url })
    await use(server)
    await server.stop()
  },
})
/** The server at which the browser of this worker is signed in: a cookie knows no ports. */
let signedIn = ''

const card = (text?: string | RegExp): What => ({ css: '[data-request-id]', text })
const approve = (text?: string) => role('button', /^Approve(…| Y)?$/, card(text))
const deny = (text?: string) => role('button', /^Deny( N)?$/, card(text))
const said = (text: string | RegExp) => words(text, { css: '[role=feed] .row.text' })
const next = role('button', /^(Next request|Done)/, { css: '[aria-label="Selected request"] > header' })
const more = async (tab: Tab) => (await tab.find(next)) && (await tab.click(next))
const reason: What = { css: 'textarea', in: card() }

test('the first start, a new session, and its first approval', async ({ webkit, model }) => {
  const fresh = await startServer({ claudePath: program('claudetest'), modelURL: model.url, bootstrap: false })
  const tab = await webkit.open()
  await tab.goto(fresh.signInAddress())
  await tab.see(role('heading', 'Welcome'))
  await tab.fill(role('textbox', 'Name'), 'Ada')
  await tab.fill(role('textbox', /^Password/), 'four words of mine')
  await tab.click(role('button', 'Get started'))
  await tab.see(role('heading', 'Welcome, Ada'))
  await tab.fill({ css: 'input', name: /^Folder/ }, fresh.workspace)
  await tab.click(role('button', 'Continue'))
  const dialog: What = { css: 'dialog[open]' }
  await tab.fill(
    role('textbox', /What should Claude do/, dialog),
    play('Make it.', [bash('touch made')], [text('Made.')]),
  )
  await tab.click(role('button', /^Start session/, dialog))
  await tab.see(card('touch made'))
  await tab.click(approve())
  await tab.see(said('Made.'))
  expect(existsSync(join(fresh.workspace, 'made'))).toBe(true)
  await tab.close()
  signedIn = ''
  await fresh.stop()
})

test('a card arrives in two windows and is approved, denied with a reason, edited, and written as shown', async ({
  open,
  scripted,
  rest,
}) => {
  const [approved, edited, written] = ['approved', 'edited', 'new.txt'].map((name) => join(scripted, name))
  writeFileSync(written!, 'one\n')
  const id = await rest.start(
    play(
      'Make files.',
      [bash(`touch ${approved}`)],
      [bash('touch denied')],
      [text('You said: {{last_tool_result}}'), bash('touch asked')],
      [tool('Edit', { file_path: written, old_string: 'one\n', new_string: 'one\ntwo\n' }), text('Done.')],
    ),
    { cwd: scripted },
  )
  const near = await open(`/sessions/${id}`)
  const far = await open(`/sessions/${id}`)
  const arrives = async (what: string) => {
    for (const tab of [near, far]) {
      await more(tab)
      await tab.see(card(what))
    }
  }
  await arrives('touch ' + approved)
  await near.click(approve())
  await expect.poll(() => existsSync(approved!)).toBe(true)

  await arrives('touch denied')
  await near.click(deny())
  await near.fill(reason, 'Use pnpm, not npm.')
  await near.click(deny())
  await near.see(said(/You said: .*Use pnpm, not npm\./))

  await arrives('touch asked')
  await near.click(role('button', 'More actions', card()))
  await near.click(role('button', /^Edit/, card()))
  await near.fill(reason, `touch ${edited}`)
  await near.see(role('group', 'Your changes', card()))
  await near.click(approve())
  await expect.poll(() => existsSync(edited!)).toBe(true)

  await arrives('new.txt')
  await near.see({ css: 'ins', in: card(), text: 'two' })
  await near.click(approve())
  await near.see(said('Done.'))
  for (const tab of [near, far]) await tab.gone(card())
})

test('high risk takes more than a press, and an answer that is held can be undone', async ({
  open,
  scripted,
  rest,
}) => {
  const build = join(scripted, 'build')
  mkdirSync(build)
  const id = await rest.start(play('Clean up.', [bash(`rm -rf ${build}`)], [text('Cleaned.')]), { cwd: scripted })
  const tab = await open(`/sessions/${id}`)
  await tab.evaluate(() => (localStorage.setItem('sayso:undo', 'usual'), localStorage.setItem('sayso:undoFor', '10')))
  await tab.reload()
  const confirm = async () => {
    await tab.click(approve(build))
    await tab.fill({ css: 'input', name: /^Type “rm -rf”/ }, 'rm -rf')
    await tab.click(approve(build))
  }
  await confirm()
  await tab.click(role('button', /^Undo/, { css: '.outcome' }))
  await tab.gone({ css: '.outcome' })
  expect((await rest.state(id)).pending_requests.map((r) => r.status)).toEqual(['open'])
  await tab.evaluate(() => localStorage.setItem('sayso:undo', 'never'))
  await tab.reload()
  await confirm()
  await tab.see(said('Cleaned.'))
  expect(existsSync(build)).toBe(false)
})

test('questions with options and own words, and a plan', async ({ open, scripted, rest }) => {
  const id = await rest.start(
    play(
      'Ask me.',
      [
        ask(
          question('Which format?', 'Format', ['Summary', 'Table']),
          question('Which parts?', 'Parts', ['Intro', 'End'], true),
        ),
      ],
      [text('Heard: {{last_tool_result}}'), tool('ExitPlanMode', { plan: '# The plan\n\nPaint it green' })],
      [text('Off I go.')],
    ),
    { cwd: scripted, permission_mode: 'plan' },
  )
  const tab = await open(`/sessions/${id}`)
  await tab.click(role('radio', /^Other/, card()))
  await tab.fill(reason, 'A poem')
  await tab.click(role('checkbox', /^End/, card()))
  await tab.click(role('button', /^Send answers/, card()))
  await tab.see(said(/Heard: .*A poem/))
  await more(tab)
  await tab.see(words('Paint it green', card()))
  await tab.click(role('button', /^Approve and ask before edits/))
  await tab.see(said('Off I go.'))
})

test('a request that Claude withdraws goes in both windows, and text comes in as it is written', async ({
  open,
  folder,
  rest,
}) => {
  const long = Array.from({ length: 120 }, (_, i) => `word${i}`).join(' ')
  const id = await rest.start(prompt('Make it.', [bash('touch made')]), { cwd: folder })
  const near = await open(`/sessions/${id}`)
  const far = await open(`/sessions/${id}`)
  for (const tab of [near, far]) await tab.see(card('touch made'))
  await near.click(role('button', /^Interrupt/))
  for (const tab of [near, far]) await tab.gone(card())
  await near.fill(role('textbox', /^Message to Claude/), prompt('And now?', { blocks: [text(long)], chunk_ms: 30 }))
  await near.click(role('button', /^(Send|Queue)/))
  // In part, before it is whole; then to its end, which is in view.
  await far.see(words('word3 ', { css: '[role=feed]' }))
  expect(await rest.said(id)).not.toContain('word119')
  await far.see(said('word119'))
})

test('what is open outlives a crash of the server, and without it a page says what was last known', async ({
  open,
  own,
  request,
}) => {
  const rest = new REST(request, own)
  const cable = await cuttable(own.url)
  const id = await rest.start(play('Make it.', [bash('touch made')], [text('Made.')]), { title: 'kept offline' })
  const tab = await open(`/sessions/${id}`, { ...own, url: cable.url })
  await tab.see(card('touch made'))
  await own.crash()
  await tab.click(approve())
  await tab.see(said('Made.'))
  expect(existsSync(join(own.workspace, 'made'))).toBe(true)

  // An installed app registers its worker by itself.
  await tab.evaluate(() => {
    type Policy = { createScriptURL(url: string): string }
    const types = (window as { trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }).trustedTypes
    const policy = types?.createPolicy('sayso-push', { createScriptURL: (url) => url })
    const ready = () => void (document.documentElement.dataset['ready'] = '')
    void navigator.serviceWorker.register(policy?.createScriptURL('/push.js') ?? '/push.js')
    void navigator.serviceWorker.ready.then(ready)
  })
  await tab.see({ css: '[data-ready]' })
  await tab.reload()
  await tab.see(said('Made.'))
  // What is kept is written when the page is left, once it is known that there is a worker to show it.
  const kept = () =>
    tab.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
      const { dataset } = document.documentElement
      void caches.match('/last', { cacheName: 'sayso-last' }).then((found) => found && (dataset['kept'] = ''))
      return dataset['kept'] === ''
    })
  await expect.poll(kept).toBe(true)
  await expect(async () => {
    cable.cut()
    await tab.goto(`${cable.url}/sessions/${id}`)
    await tab.see(role('heading', 'No connection to the server'))
  }).toPass()
  await tab.see(words('kept offline'))
})

test('with keys alone: from the inbox over its requests to a new session', async ({ open, own, request }) => {
  const rest = new REST(request, own)
  const cwd = mkdtempSync(join(own.workspace, 'project-'))
  const start = async (title: string, ...replies: Parameters<typeof play>[1][]) => {
    const id = await rest.start(play(title, ...replies), { cwd, title })
    await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(1)
    return id
  }
  await start('Run it', [bash('touch ran')], [text('Ran.')])
  await start('Write it', [write(join(cwd, 'written'), 'words')], [text('Written.')])
  const refused = await start('Refuse it', [bash('touch refused')], [text('Refused: {{last_tool_result}}')])
  const tab = await open('/', own)
  await tab.see({ css: '[data-session], nav a', text: 'Run it' })
  await expect(async () => {
    await tab.press('g', 'i')
    await expect.poll(() => tab.url(), { timeout: 2_000 }).toContain('/inbox')
  }).toPass()
  // After a decision the key that leads to the request leads to the next one.
  const decide = async (text: string, key: string) => {
    await expect(async () => {
      await tab.press('Alt+.')
      expect(
        await tab.evaluate(() => document.activeElement?.closest('[data-request-id]')?.textContent ?? ''),
      ).toContain(text)
    }).toPass()
    await tab.see({ ...(key === 'y' ? approve(text) : deny(text)), css: 'button:not([aria-disabled])' })
    await tab.press(key)
  }
  await decide('touch ran', 'y')
  await expect.poll(() => existsSync(join(cwd, 'ran'))).toBe(true)
  await decide('written', 'y')
  await expect.poll(() => existsSync(join(cwd, 'written'))).toBe(true)
  await decide('touch refused', 'n')
  await tab.type('No')
  await tab.press('Control+Enter')
  await expect.poll(() => rest.said(refused)).toContain('Refused: No')
  // It stays until it is put away.
  await tab.see(next)
  await tab.click(next)
  await tab.see(words('You’re all caught up'))

  await tab.press('?')
  await tab.see(role('dialog', 'Keyboard shortcuts'))
  await tab.press('Escape')
  await tab.gone({ css: 'dialog[open]' })
  const palette: What = { css: 'dialog[open]' }
  await tab.press('Control+k')
  await tab.see(role('combobox', undefined, palette))
  await tab.type('refuse')
  await tab.see({ role: 'option', text: 'Refuse it', in: palette })
  await tab.press('Enter')
  await tab.see(role('heading', 'Refuse it'))
  await tab.press('Control+k')
  await tab.see(role('combobox', undefined, palette))
  await tab.type('new sess')
  await tab.press('Enter')
  await tab.see(role('textbox', /What should Claude do/))
})

test('thirty fetches are one card, which two presses approve', async ({ open, own, request }) => {
  const rest = new REST(request, own)
  const fetch = { tool_name: 'WebFetch', input: { url: 'https://docs.example.com/v2/a', prompt: 'What is it?' } }
  const turn = JSON.stringify({ turn: [{ ask: fetch, count: 30, parallel: true }, { text: 'Collected.' }] })
  const id = await rest.start(`Collect.\n\n\`\`\`claudetest\n${turn}\n\`\`\``, {
    cwd: mkdtempSync(join(own.workspace, 'project-')),
  })
  await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(30)
  const tab = await open('/inbox', own)
  await tab.resize(1440, 900)
  await tab.click(role('checkbox', '0 of 30 selected'))
  await tab.click(role('button', /^Approve 30/))
  await expect.poll(async () => (await rest.state(id)).pending_requests.length, { timeout: 20_000 }).toBe(0)
  await expect.poll(() => rest.said(id)).toContain('Collected.')
})

test('files are attached in the composer', async ({ open, folder, rest }) => {
  const notes = join(folder, 'notes.txt')
  writeFileSync(notes, 'Some notes.')
  const id = await rest.start(prompt('Say.', [text('Said.')]), { cwd: folder })
  const tab = await open(`/sessions/${id}`)
  await tab.see(said('Said.'))
  await tab.attach('input[type=file]', notes)
  await tab.see(role('button', 'Remove notes.txt'))
  // Another is pasted.
  await tab.evaluate(() => {
    const carried = new DataTransfer()
    carried.items.add(new File(['Pasted.'], 'pasted.txt', { type: 'text/plain' }))
    document
      .querySelector('.composer textarea')!
      .dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: carried }))
  })
  await tab.see(role('button', 'Remove pasted.txt'))
  await tab.fill(role('textbox', /^Message to Claude/), prompt('Look.', [text('Seen: {{attached}}.')]))
  await tab.click(role('button', /^Send/))
  await tab.see(said(/Seen: .*notes\.txt.*pasted\.txt/))
})

test('language and appearance are kept, and nothing sticks out', async ({ open, rest, scripted }) => {
  const id = await rest.start(play('Make it.', [bash('touch made')]), { cwd: scripted })
  const tab = await open('/settings')
  const choose = (name: string, option: string) =>
    tab.evaluate(
      (name, option) => {
        const field = [...document.querySelectorAll('select')].find((s) => s.labels[0]?.textContent?.includes(name))!
        field.value = [...field.options].find((o) => o.text === option)!.value
        field.dispatchEvent(new Event('change', { bubbles: true }))
      },
      name,
      option,
    )
  await tab.see(role('heading', 'Settings'))
  await choose('Theme', 'Dark')
  await tab.reload()
  await tab.see(role('heading', 'Settings'))
  expect(await tab.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
  await tab.goto((await tab.url()).replace('/settings', `/sessions/${id}`))
  await tab.see(card('touch made'))
  // What is drawn with container queries, :has() and light-dark() is drawn so here.
  const brightness = (css: string, property: 'color' | 'backgroundColor') =>
    tab.evaluate(
      (css, property) => {
        const canvas = document.createElement('canvas').getContext('2d')!
        canvas.fillStyle = getComputedStyle(document.querySelector(css)!)[property as 'color']
        canvas.fillRect(0, 0, 1, 1)
        return canvas.getImageData(0, 0, 1, 1).data[0]!
      },
      css,
      property,
    )
  await expect.poll(() => brightness('html', 'backgroundColor')).toBeLessThan(60)
  await expect.poll(() => brightness('[data-request-id] h2', 'color')).toBeGreaterThan(200)
  // What can be pressed by now stands out.
  const ready = '[data-request-id] .approve:not([aria-disabled])'
  await tab.see({ css: ready })
  await expect.poll(() => brightness(ready, 'backgroundColor')).toBeGreaterThan(200)
  for (const [width, height] of [
    [1440, 900],
    [448, 844],
  ] as const) {
    await tab.resize(width, height)
    await expect
      .poll(() => tab.evaluate(() => document.documentElement.scrollWidth - innerWidth))
      .toBeLessThanOrEqual(0)
    writeFileSync(test.info().outputPath(`session-${width}.png`), await tab.picture())
  }
  await tab.goto((await tab.url()).replace(/\/sessions.*/, '/settings'))
  await tab.see(role('heading', 'Settings'))
  await choose('Theme', 'System')
})

test('the theme and the motion of the desktop are followed', async ({ webkit, server }) => {
  const dark = await WebKit.start({ dark: true, still: false })
  try {
    for (const [browser, follows] of [
      [webkit, [false, true]],
      [dark, [true, false]],
    ] as const) {
      const tab = await browser.open()
      await tab.goto(`${server.url}/sign-in`)
      await tab.see(role('button', /^Sign in/))
      const asked = ['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)']
      expect(await tab.evaluate((asked) => asked.map((query) => matchMedia(query).matches), asked)).toEqual(follows)
      await tab.close()
    }
  } finally {
    await dark.stop()
  }
})
