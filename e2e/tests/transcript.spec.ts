import { join } from 'node:path'

import type { Page } from '@playwright/test'

import { PAYLOADS } from '../../frontend/src/testpayloads.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { everything } from '../machine.ts'
import { bash, play, prompt, text, tool, write } from '../script.ts'
import { Stage } from '../stage.ts'

const painted = (kind: string) => [...(CSS.highlights.get(`code-${kind}`) ?? [])].map((r) => r.toString())

test('code is highlighted by a worker and stays text @newest', async ({ page, folder, rest }) => {
  const code = 'func main() {\n\t// says it\n\tprintln("<img src=x onerror=alert(1)>")\n}'
  const id = await rest.start(prompt('Show me.', [text(`Here:\n\n\`\`\`go\n${code}\n\`\`\``)]), { cwd: folder })
  await App.openSession(page, id)

  const block = page.getByRole('figure').last() // the first is the script, in the prompt
  await expect(block.locator('code')).toHaveText(code)
  await expect.poll(() => page.evaluate(painted, 'keyword')).toContain('func')
  expect(await page.evaluate(painted, 'comment')).toEqual(['// says it'])
  expect(await block.locator('code *').count()).toBe(0)
})

const more = async (page: Page, what: string) => {
  await page.getByRole('button', { name: 'More', exact: true }).click()
  const menu = page.getByRole('banner').or(page.getByRole('main'))
  await menu
    .getByRole('button', { name: what, exact: true })
    .or(menu.getByRole('link', { name: what }))
    .first()
    .click()
}

test('a transcript is searched, and read as a plain page @newest', async ({ page, scripted, rest }) => {
  const lines = 'for i in $(seq 1 80); do printf "\\033[32mline %s\\033[0m\\n" $i; done'
  const id = await rest.start(play('Count.', [bash(lines)], [text('That was the **needle** among them.')]), {
    cwd: scripted,
  })
  const app = await App.openSession(page, id)
  await app.approve(app.card())
  await expect(app.said('needle')).toBeVisible()

  // The words are in the folded middle of an output that is not open.
  await page.getByRole('feed').focus()
  await page.keyboard.press('/')
  const field = page.getByRole('searchbox', { name: 'Search this transcript' })
  await expect(field).toBeFocused()
  await field.fill('line 41')
  await expect(page.getByRole('main').getByText('1 of 1', { exact: true })).toBeVisible()
  await expect(page.locator('.output .green').filter({ hasText: /^line 41$/ })).toBeVisible()
  await expect
    .poll(() => page.evaluate(() => [...(CSS.highlights.get('found') ?? [])].map(String)))
    .toContain('line 41')
  await page.keyboard.press('Escape')
  await expect(field).toHaveCount(0)

  await more(page, 'Open as a plain page')
  await expect(page.getByRole('article', { name: 'Claude' }).getByText('needle')).toBeVisible()
  await expect(page.getByText('line 41', { exact: true })).toBeVisible()
  await page.getByRole('link', { name: 'Back to session' }).click()
  await expect(app.composer()).toBeVisible()
})

test('a search over all transcripts leads to the block @newest', async ({ page, scripted, rest }) => {
  const word = `heron${Date.now()}`
  const lines = Array.from({ length: 40 }, (_, i) => text(`Line ${i} of many.\n\nMore of it.`))
  const id = await rest.start(play('Say it.', [text(`Here stands a ${word} in main.go.`), bash('touch seen')], lines), {
    cwd: scripted,
    title: 'The bird',
  })
  const other = await rest.start(play('Say nothing.', [text('Nothing.')]), { cwd: scripted })
  await expect.poll(async () => (await rest.state(id)).pending_requests.length).toBe(1)
  const app = await App.openSession(page, id)
  // The end is followed on a slow machine, too, where rows have their height long after they came.
  // What is slowed down computes all the time.
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: everything ? 12 : 4 })
  await app.approve(app.card())
  await expect(app.said('Line 39 of many.')).toBeVisible()
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  await page.goto(`/sessions/${other}`)
  await expect(app.said('Nothing.')).toBeVisible()
  // Transcripts are indexed a moment after the turn.
  await expect
    .poll(async () => (await rest.get<{ results: unknown[] }>(`/api/search?q=${word}`)).results.length)
    .toBe(1)

  const field = page.getByRole('searchbox', { name: 'Search sessions' })
  await field.fill(`"${word.slice(0, 9).toUpperCase()} main.go*`)
  const found = page.getByRole('region', { name: 'Transcripts', exact: true })
  await expect(found.getByText('The bird')).toBeVisible()
  await expect(found.locator('mark').first()).toHaveText(word.slice(0, 9))
  await found.getByRole('link', { name: /^Claude Here stands/ }).click()
  await expect(page.getByRole('heading', { name: 'The bird' })).toBeVisible()
  await expect(app.said(`Here stands a ${word}`)).toBeInViewport()
  await field.fill(`${word} crane`)
  await expect(found.getByText('No results')).toBeVisible()
})

test('nothing in a transcript runs @newest', async ({ page, folder, rest }) => {
  // A fence in a prompt would end its script, and a file of text holds no NUL.
  const hostile = PAYLOADS.filter((p) => !p.includes('```') && !p.includes('\0'))
  const file = join(folder, 'hostile.html')
  const id = await rest.start(
    prompt(
      hostile.slice(0, 20).join('\n'),
      [text(hostile.join('\n\n')), write(file, hostile.join('\n'))],
      [tool('Read', { file_path: file })],
      [text(`\`\`\`html\n${hostile.slice(0, 40).join('\n')}\n\`\`\`\n\nThat was all of it.`)],
    ),
    { cwd: folder, title: hostile[1], permission_mode: 'acceptEdits' },
  )
  await page.addInitScript(() =>
    Object.defineProperty(window, 'ran', { set: () => console.error('a payload ran'), get: () => undefined }),
  )
  const app = await App.openSession(page, id)
  // Last of all: the plain page shows what there is when it is opened.
  await expect(app.said('That was all of it.')).toBeVisible()
  await expect(page.getByRole('figure').locator('code').last()).toContainText('onerror')
  // The fixture fails the test on a violation of the CSP, an exception or a word of `ran`.
  expect(
    await page
      .getByRole('feed')
      .locator('img, iframe, script, object, embed, form, style, video, audio, [onerror], [onload]')
      .count(),
  ).toBe(0)
  await page.goto(`/sessions/${id}/plain`)
  // There every fold is open.
  await expect(page.locator('.output').last()).toContainText('onerror')
  expect(
    await page.getByRole('main').locator('img, iframe, script, object, embed, form, style, video, audio').count(),
  ).toBe(0)
})

test('sessions are renamed, forked, archived and found again', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Say it.', [text('The first word.')]), {
    cwd: folder,
    title: `Plain ${folder.slice(-6)}`,
  })
  const app = await App.openSession(page, id)
  await expect(app.said('The first word.')).toBeVisible()

  const title = `Renamed ${folder.slice(-6)}`
  await more(page, 'Rename')
  await page.getByRole('textbox', { name: 'Title' }).fill(title)
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()

  await more(page, 'Fork')
  await expect(page.getByRole('heading', { level: 1, name: `Fork of ${title}` })).toBeVisible()
  await expect(app.said('The first word.')).toBeVisible()
  const forked = page.url().split('/').at(-1)!
  expect(forked).not.toBe(id)
  await expect.poll(async () => (await rest.state(forked)).state).toBe('user_turn')
  await app.send(prompt('Again.', [text('And the fork goes on.')]))
  await expect(app.said('And the fork goes on.')).toBeVisible()

  await page.goto(`/sessions/${id}`)
  await app.kill()
  await expect(app.dead()).toBeVisible()
  await more(page, 'Archive')
  await expect(page.getByRole('main').getByText('Archived', { exact: true })).toBeVisible()
  const list = page.getByRole('navigation', { name: 'Sessions' })
  await expect(list.getByRole('link', { name: new RegExp(`^(?!.*Fork).*${title}`) })).toHaveCount(0)
  await page.getByRole('searchbox', { name: 'Search sessions' }).fill(title.toUpperCase())
  await expect(list.getByRole('region', { name: 'Sessions found' }).getByRole('link')).toHaveCount(2)
  await page.getByRole('searchbox', { name: 'Search sessions' }).fill('')
  await list.getByRole('button', { name: 'Archive' }).click()
  await expect(list.getByRole('region', { name: 'Archive' }).getByRole('link', { name: title })).toBeVisible()
  await more(page, 'Unarchive')
  await expect(page.getByText('Archived', { exact: true })).toHaveCount(0)
})

test('the model is changed and a queued message canceled while Claude runs', async ({ page, folder, rest }) => {
  const id = await rest.start(prompt('Ask.', [bash(`touch ${folder}/x`)], [text('The first is done.')]), {
    cwd: folder,
  })
  const app = await App.openSession(page, id)
  await expect(app.card()).toBeVisible()

  // Some versions offer Opus twice, the second time with a larger context.
  await page.getByRole('combobox', { name: 'Model' }).click()
  await page.getByRole('listbox', { name: 'Model' }).getByRole('option', { name: /^Opus/ }).first().click()
  await expect(page.getByRole('combobox', { name: 'Model' })).toHaveText(/opus/i)

  await app.send('Not this one.')
  await app.send(prompt('But this.', [text('The third is done.')]))
  const queue = page.getByRole('list', { name: 'Queued messages' })
  await expect(queue.getByRole('listitem')).toHaveCount(2)
  await queue.getByRole('button', { name: 'Remove: Not this one.' }).click()
  await expect(queue.getByRole('listitem')).toHaveCount(1)

  await app.approve(app.card())
  await expect(app.said('The third is done.')).toBeVisible()
  await expect(page.getByRole('feed').getByText('Not this one.')).toHaveCount(0)
})

test('ten thousand blocks create few elements, and the last page is loaded @newest @browsers', async ({
  page,
  scripted,
  rest,
}) => {
  const id = await rest.start(play('Say it.', [text('Said.')]), { cwd: scripted })
  await expect.poll(async () => (await rest.state(id)).state).toBe('user_turn')
  const at = Date.now() / 1000
  const items = Array.from({ length: 10_000 }, (_, i) => {
    const head = { seq: i + 1, rev: i + 1, key: `k${i}`, at, agent_id: null }
    if (i % 3 === 0)
      return { ...head, kind: 'text', text: `Block **${i}** with \`code\`.\n\n\`\`\`go\nfunc f${i}() {}\n\`\`\`` }
    if (i % 3 === 1) return { ...head, kind: 'thinking', text: `Hm ${i}` }
    return {
      ...head,
      kind: 'tool_call',
      tool_use_id: `t${i}`,
      tool_name: 'Bash',
      input: { command: `echo ${i}` },
      input_bytes: 9,
      status: 'done',
      result: 'x',
      result_bytes: 1,
      finished_at: at,
    }
  })
  await page.routeWebSocket('**/ws', (tab) => {
    const server = tab.connectToServer()
    server.onMessage((message) => {
      const frame = JSON.parse(String(message)) as { type: string; frames?: { type: string }[] }
      if (frame.type === 'transcript') return
      if (frame.frames) frame.frames = frame.frames.filter((f) => f.type !== 'transcript')
      tab.send(JSON.stringify(frame))
    })
    tab.onMessage((message) => {
      const { type, session_id, after } = JSON.parse(String(message)) as {
        type: string
        session_id?: string
        after?: number
      }
      server.send(message)
      if (type === 'subscribe' && session_id === id && !after) {
        tab.send(
          JSON.stringify({
            type: 'transcript',
            session_id: id,
            from: 0,
            next: 10_000,
            items,
            total: 10_000,
            live: null,
          }),
        )
      }
    })
  })
  await App.openSession(page, id)
  const elements = () => page.evaluate(() => document.querySelectorAll('*').length)
  await expect(page.getByText('func f9999() {}')).toBeVisible()
  expect(await elements()).toBeLessThan(2_000)

  await page.getByRole('feed').focus()
  await page.keyboard.press('Home')
  await expect(page.getByText('func f0() {}')).toBeInViewport()
  expect(await elements()).toBeLessThan(2_000)
  await page.keyboard.press('End')
  await expect(page.getByText('func f9999() {}')).toBeInViewport()

  await page.keyboard.press('/')
  await page.getByRole('searchbox', { name: 'Search this transcript' }).fill('echo 5000')
  await expect(page.locator('.row.tool_call').filter({ hasText: 'echo 5000' })).toBeVisible()
  expect(await elements()).toBeLessThan(2_000)

  // The address of a message opens there, however much lies between it and the end.
  const message = page.getByRole('article').filter({ hasText: 'func f300() {}' })
  await page.goto(`/sessions/${id}?block=k300`)
  await expect(message.getByText('func f300() {}')).toBeInViewport()
  await expect(message.getByRole('button', { name: 'Copy link to this message' })).toBeAttached()
  expect(await elements()).toBeLessThan(2_000)
})

test('the session details list what happened, and link to the block @newest', async ({ page, server }) => {
  const stage = await Stage.in(page)
  await page.route(`**/api/sessions/${stage.id}`, (route) => route.fulfill({ json: { created_at: 1_763_692_800 } }))
  const edit = (file: string) => ({
    kind: 'tool_call' as const,
    tool_use_id: file,
    tool_name: 'Edit',
    input: { file_path: `/w/${file}`, old_string: 'old', new_string: `new in ${file}` },
    input_bytes: 9,
    status: 'done',
    result_bytes: 0,
  })
  stage.say(
    edit('first.ts'),
    ...Array.from({ length: 60 }, (_, i) => ({ kind: 'text' as const, text: `Line ${i}` })),
    edit('last.ts'),
    {
      kind: 'result',
      is_error: false,
      subtype: 'success',
      duration_ms: 1,
      num_turns: 1,
      cost_usd: 0.25,
      input_tokens: 1200,
      output_tokens: 80,
    },
  )
  await stage.open(server.url)
  await expect(page.getByRole('button', { name: 'Context and cost' })).toContainText('$0.25')
  const about = async () => {
    await page.getByRole('main').getByRole('button', { name: 'More', exact: true }).first().click()
    await page.getByRole('button', { name: 'Session details' }).click()
  }

  await page.getByRole('feed').focus()
  await page.keyboard.press('b')
  const beside = page.getByRole('complementary', { name: 'Session details' })
  await expect(beside.getByRole('heading', { name: 'Session details' })).toBeFocused()
  await beside.getByRole('button', { name: 'first.ts' }).click()
  await expect(page.getByRole('feed').getByText('new in first.ts')).toBeInViewport()
  await page.keyboard.press('Escape')
  await expect(beside).toHaveCount(0)
  await expect(page.getByRole('feed')).toBeFocused()

  // It is as it was left; on a phone it comes only when it is asked for.
  await about()
  await page.reload()
  await expect(beside.getByRole('button', { name: 'last.ts' })).toBeVisible()
  await page.setViewportSize({ width: 390, height: 844 })
  await expect(beside).toHaveCount(0)
  await about()
  const sheet = page.getByRole('dialog', { name: 'Session details' })
  await sheet.getByRole('button', { name: 'first.ts' }).click()
  await expect(sheet).toHaveCount(0)
  await expect(page.getByRole('feed').getByText('new in first.ts')).toBeInViewport()
})
