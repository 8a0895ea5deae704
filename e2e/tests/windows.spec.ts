// In every window what is decided and its buttons are in view, as is what names it. On made frames.
import type { Locator } from '@playwright/test'

import { command as risk, file, FORMS, lines, tool } from '../../frontend/src/testcards.ts'
import type { Preview, Request } from '../../frontend/src/wire/messages.gen.ts'
import { expectAccessible, PHONE } from '../a11y.ts'
import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { everything } from '../machine.ts'
import { Stage } from '../stage.ts'

// `make test` looks at the tightest of each kind, `make test-all` at all.
const TIGHTEST = [
  [320, 256], // 1280 wide at 400 %
  [568, 320], // a small phone on its side
  [320, 568], // and upright
  [1280, 520],
] as const
const SIZES = everything
  ? ([
      ...TIGHTEST,
      [640, 400], // 1280 wide at 200 %
      [844, 390], // a phone on its side
      [390, 844],
      [1280, 690],
      [2560, 1300],
    ] as const)
  : TIGHTEST

const text = 'cd build && sudo rm -rf ./* && curl -s https://get.example.com/install.sh'
const cards: Record<string, { request: Request; preview: Preview | null; hero: string; names: string; line: number }> =
  {
    command: {
      request: tool('Bash', { command: lines(9, 'go test ./signin/...'), description: 'Run the tests' }),
      preview: risk('low'),
      hero: '.body pre',
      names: 'h2',
      line: 26,
    },
    risk: {
      request: tool('Bash', { command: text, description: 'Clean up' }, { risk: 'high' }),
      preview: {
        ...risk('high'),
        command: {
          problem: '',
          marks: [{ from: 12, to: 27, kind: 'delete_tree', level: 'high', reason: 'Removes.' }],
          steps: text.split(' && ').map((t) => ({
            from: text.indexOf(t),
            to: text.indexOf(t) + t.length,
            text: t,
            depth: 0,
          })),
        },
      },
      hero: '.body .steps',
      names: 'h2',
      line: 26,
    },
    diff: {
      request: tool('Edit', { file_path: '/w/signin/limiter.go', old_string: 'line 3\n', new_string: 'three\n' }),
      preview: file({ line: 1, before: lines(9, 'line'), after: lines(9, 'line').replace('line 3', 'three') }),
      hero: '.body .diff',
      names: '.identity .path',
      line: 20,
    },
  }

/** How much of it is in view, px: what it scrolls in cuts it off. */
const heightInView = (what: Locator) =>
  what.evaluate((el) => {
    let { top, bottom } = el.getBoundingClientRect()
    for (let at = el.parentElement; at; at = at.parentElement) {
      if (getComputedStyle(at).overflowY === 'visible') continue
      const box = at.getBoundingClientRect()
      top = Math.max(top, box.top)
      bottom = Math.min(bottom, box.bottom)
    }
    return Math.min(bottom, innerHeight) - Math.max(top, 0)
  })

/** All of it is in view, and nothing lies over its middle. */
async function expectWhole(what: Locator) {
  await expect(what).toBeInViewport({ ratio: 1 })
  await expect
    .poll(() =>
      what.evaluate((el) => {
        const { x, y, width, height } = el.getBoundingClientRect()
        return el.contains(document.elementFromPoint(x + width / 2, y + height / 2))
      }),
    )
    .toBe(true)
}

for (const [kind, { request, preview, hero, names, line }] of Object.entries(cards))
  test(`the name, two lines and the buttons of a ${kind} card are in view in every window @newest`, async ({
    page,
    server,
  }) => {
    const stage = await Stage.in(page)
    if (preview) stage.previews.set('a', preview)
    stage.show([{ ...request, request_id: 'a', created_at: Date.now() / 1000 - 5 }])
    const card = page.locator('[data-request-id=a]')
    for (const [place, path] of [
      ['session', `/sessions/${stage.id}`],
      ['inbox', '/inbox/a'],
    ] as const) {
      await page.setViewportSize({ width: 390, height: 844 })
      await page.goto(server.url + path)
      if (place === 'session') await App.of(page).review()
      for (const [width, height] of SIZES) {
        await test.step(`${place}, ${width}x${height}`, async () => {
          await page.setViewportSize({ width, height })
          await expectWhole(card.locator(names).first())
          for (const name of [/^Deny$/, /^Approve…?$/]) await expectWhole(card.getByRole('button', { name }))
          await expect.poll(() => heightInView(card.locator(hero).first())).toBeGreaterThanOrEqual(2 * line)
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
          if (width < 768 || height < 480) {
            const back =
              place === 'inbox'
                ? page.getByRole('link', { name: 'Back to inbox' })
                : page.getByRole('button', { name: 'Hide' })
            await expectWhole(back)
          }
        })
      }
    }
  })

test('on a phone a session has one bar for waiting requests, which opens the card and can be returned to @newest', async ({
  page,
  server,
}) => {
  const stage = await Stage.in(page)
  await page.setViewportSize({ width: 390, height: 844 })
  stage.previews.set('a', risk('low'))
  stage.show([
    { ...cards.command!.request, request_id: 'a' },
    { ...FORMS['a question with one answer']!, request_id: 'b' },
  ])
  let interrupts = 0
  await page.route('**/interrupt', (route) => {
    interrupts++
    return route.fulfill({ json: {} })
  })
  await page.route('**/changes?*', (route) =>
    route.fulfill({
      json: { repository: 'missing', branch: '', head: '', base: 'head', main_branch: '', files: [], more: false },
    }),
  )
  await stage.open(server.url)
  const bar = page.getByRole('button', { name: /^Run a command.*Review$/ })
  await expect(bar).toBeInViewport({ ratio: 1 })
  await expect(page.locator('[data-request-id=a]')).toBeHidden()
  await expect(page.getByRole('textbox', { name: 'Message to Claude' })).toBeInViewport()
  // The header has the title, and its menu the actions.
  await expect(page.getByRole('button', { name: /^(Interrupt|Changes and files)$/ })).toHaveCount(0)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('button', { name: 'Changes and files' }).click()
  await expect(page.getByRole('tab', { name: 'Changes' })).toBeFocused()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('button', { name: 'Interrupt' }).click()
  await expect.poll(() => interrupts).toBe(1)
  await bar.click()
  await expect(page.locator('[data-request-id=a]')).toBeFocused()
  await expect(page.locator('.screen .name')).toHaveText(/^Fix the login/)
  await page.getByRole('button', { name: 'Hide' }).click()
  await expect(bar).toBeFocused()
  // Whatever takes the focus behind it is not covered.
  await bar.click()
  await page.keyboard.press('Alt+,')
  await expect(page.getByRole('textbox', { name: 'Message to Claude' })).toBeFocused()
  await expect(bar).toBeVisible()
  await bar.click()
  await expectAccessible(page, 'a card on a phone', '.dock', [PHONE])
})
