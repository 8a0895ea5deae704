import type { Locator } from '@playwright/test'

import { App } from '../app.ts'
import { tool } from '../../frontend/src/testcards.ts'
import { expect, test } from '../fixtures.ts'
import { everything } from '../machine.ts'
import { Stage } from '../stage.ts'

// What is shown is all there is, as a browser draws it.

const PLAN = [
  '# Clean up',
  '',
  '1. Remove `build`\u202e ([docs](https://example.com/a "and the title"))',
  '4. Then **stop**',
  '',
  '[//]: # (rm -rf / is the hidden step)',
  '',
  '```sh {hidden=1} and the rest',
  'ls ' + 'a'.repeat(300),
  '```',
  '',
  '| what | why |',
  '|---|---|',
  '| a | b | and the cell too many |',
  '',
  '<!-- a comment -->',
  '',
  '![alt](https://example.com/pixel.png)',
  '',
  'a &#114;&#109; b',
  '',
  `${'word'.repeat(200)}`,
].join('\n')

/** Scrolls to a text; its element is another one once the code in it has its colours. */
async function expectReachable(what: Locator): Promise<void> {
  await expect(async () => {
    await what.scrollIntoViewIfNeeded({ timeout: 3_000 })
    await expect(what).toBeInViewport({ timeout: 1_000 })
  }).toPass()
}

for (const [width, height] of [
  [1280, 800],
  [390, 844],
] as const)
  for (const colorScheme of everything ? (['light', 'dark'] as const) : ([width > 1000 ? 'light' : 'dark'] as const)) {
    test(`a hostile plan and a call with unknown fields, ${width} wide, ${colorScheme} @newest`, async ({
      page,
      server,
    }) => {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height })
      const stage = await Stage.in(page)
      await stage.open(server.url)
      const plan = tool(
        'ExitPlanMode',
        { plan: PLAN, allowedPrompts: [{ tool: 'Bash', prompt: 'anything' }], later: 'a field of next year' },
        { request_id: 'plan', input_hash: 'sha256:plan' },
      )
      stage.show([plan])
      if (width < 768) await App.of(page).review()
      const card = page.locator('[data-request-id="plan"]')
      const body = card.locator('.body')
      await expect(card.getByText('rm -rf / is the hidden step')).toBeAttached()
      for (const text of [
        'sh {hidden=1} and the rest',
        '<!-- a comment -->',
        '![alt](https://example.com/pixel.png)',
        'a &#114;&#109; b',
        '"and the title"',
        'a field of next year',
        '"prompt": "anything"',
      ]) {
        await expectReachable(card.getByText(text).first())
      }
      const missing = card.getByRole('note').filter({ hasText: 'Not shown above:' })
      await expect(missing.getByRole('listitem')).toHaveText([/Line 14.*\| a \| b \| and the cell too many \|/])
      // Nothing stands beside the body: what is too long goes on in the next line.
      expect(await body.evaluate((el) => el.scrollWidth - el.clientWidth)).toBeLessThanOrEqual(0)
      for (const inner of await body.locator('pre, table').all())
        expect(await inner.evaluate((el) => el.scrollWidth - el.clientWidth)).toBeLessThanOrEqual(1)
      await body.evaluate((el) => el.scrollTo(0, 0))
      await card.screenshot({ path: test.info().outputPath(`plan-${width}-${colorScheme}-1.png`) })
      await body.evaluate((el) => el.scrollTo(0, el.scrollHeight))
      await expect(card.locator('header .subject')).toHaveText('Clean up')
      await expect(card.locator('header .subject')).toBeInViewport()
      await card.screenshot({ path: test.info().outputPath(`plan-${width}-${colorScheme}-2.png`) })
      await App.of(page).choose(card, 'Raw JSON')
      await expect(card.getByText('[//]: # (rm -rf / is the hidden step)').last()).toBeAttached()

      const bash = tool(
        'Bash',
        {
          command: 'make test',
          description: 'Run\u2066 it',
          timeout: 123_456,
          run_in_background: true,
          dangerouslyDisableSandbox: true,
          later: { deep: 'a field of next year' },
        },
        { request_id: 'bash', input_hash: 'sha256:bash' },
      )
      stage.show([bash])
      const call = page.locator('[data-request-id="bash"]')
      for (const text of ['123456', 'LRI', 'a field of next year', 'timeout', 'later']) {
        await expectReachable(call.getByText(text, { exact: text === 'LRI' }).first())
      }
      await call.screenshot({ path: test.info().outputPath(`bash-${width}-${colorScheme}.png`) })
    })
  }

for (const [width, height] of [
  [1280, 800],
  [390, 844],
] as const)
  test(`jumping to the end does not count as having seen it, ${width} wide @newest${width === 390 ? '' : ' @nightly'}`, async ({
    page,
    server,
  }) => {
    await page.setViewportSize({ width, height })
    const stage = await Stage.in(page)
    await stage.open(server.url)
    const command = ['make the-first-line', ...Array.from({ length: 120 }, (_, i) => `echo ${i}`)].join('\n')
    stage.show([tool('Bash', { command }, { request_id: 'long', input_hash: 'sha256:long' })])
    if (width < 768) await App.of(page).review()
    const card = page.locator('[data-request-id="long"]')
    const approve = card.getByRole('button', { name: 'Approve', exact: true })
    const link = card.getByRole('button', { name: /more lines?$/ })
    const subject = card.locator('header .subject')
    await expect(link).toBeVisible()
    await expect(subject).toHaveText('make the-first-line …')

    await card.locator('.body').evaluate((el) => el.scrollTo(0, el.scrollHeight))
    await expect(card.getByText('echo 119')).toBeInViewport()
    // It has had its moment, and what is above it has not.
    await expect(link).toHaveText(/^\d\d+ more lines$/)
    await page.waitForFunction(() => new Promise((done) => setTimeout(() => done(true), 1_500)))
    await expect(approve).toHaveAttribute('aria-disabled', 'true')
    await expect(subject).toBeInViewport()

    let presses = 0
    await expect(async () => {
      if (await link.isVisible()) {
        presses++
        await link.click({ timeout: 1_000 })
      }
      await expect(link).toBeHidden({ timeout: 300 })
    }).toPass({ intervals: [50] })
    expect(presses).toBeGreaterThan(1)
    await expect(approve).not.toHaveAttribute('aria-disabled', 'true')
  })

test('unchanged lines at the end of an edit need not be seen @newest', async ({ page, server }) => {
  await page.setViewportSize({ width: 1280, height: 800 })
  const stage = await Stage.in(page)
  await stage.open(server.url)
  const same = ['one', 'two', 'three'].map(
    (s) => `${s} ${'that stays as it is and is long enough to be broken into lines '.repeat(12)}`,
  )
  const edit = (n: number) => {
    const changed = Array.from({ length: n }, (_, i) => `line ${i}`)
    return tool(
      'Edit',
      { file_path: '/w/a.txt', old_string: ['old', ...same].join('\n'), new_string: [...changed, ...same].join('\n') },
      { request_id: `e${n}`, input_hash: `sha256:e${n}` },
    )
  }
  stage.show([edit(6)])
  const card = page.locator('[data-request-id="e6"]')
  expect(await card.locator('.body').evaluate((el) => el.scrollHeight - el.clientHeight)).toBeGreaterThan(60)
  await expect(card.getByRole('button', { name: 'Approve', exact: true })).not.toHaveAttribute('aria-disabled', 'true')
  stage.show([edit(60)])
  const long = page.locator('[data-request-id="e60"]')
  await expect(long.getByRole('button', { name: /more lines?$/ })).toBeVisible()
  await expect(long.locator('.identity').first()).toContainText('a.txt')
  await expect(long.locator('.identity').first()).toBeInViewport()
})
