import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { program } from '../machine.ts'

// What a newcomer does until the first decision is counted where it arrives: addresses that are
// opened, presses and keys.
const MAX_ACTIONS = 3

for (const [device, viewport] of [
  ['a desktop', { width: 1440, height: 900 }],
  ['a phone', { width: 390, height: 844 }],
] as const) {
  const tag = device === 'a phone' ? '@nightly' : '@newest'
  test(`from the demo to the first decision on ${device} in ${MAX_ACTIONS} actions ${tag}`, async ({
    browser,
    claudePath,
  }) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sayso-e2e-')))
    const environment = {
      PATH: process.env.PATH,
      LANG: 'C.UTF-8',
      TMPDIR: folder,
      HOME: folder,
      SAYSO_CLAUDE: claudePath,
    }
    const demo = spawn(program('sayso'), ['demo', '--listen', '127.0.0.1:0', '--state-dir', join(folder, 'state')], {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const context = await browser.newContext({ viewport })
    try {
      let link = ''
      for await (const line of createInterface({ input: demo.stdout })) {
        link = line.match(/https?:\/\/\S+#\S+/)?.[0] ?? ''
        if (link) break
      }
      let actions = 0
      await context.exposeBinding('countAction', () => void actions++)
      await context.addInitScript(() => {
        const count = (ev: Event) => ev.isTrusted && (window as unknown as { countAction(): void }).countAction()
        for (const type of ['pointerdown', 'keydown']) addEventListener(type, count, true)
      })
      const page = await context.newPage()
      await page.goto(link)
      actions++ // the address that was opened
      const app = App.of(page)
      if (device === 'a phone') await app.review()
      await app.approve(app.card())
      await expect(app.outcome()).toBeVisible()
      expect(actions).toBeLessThanOrEqual(MAX_ACTIONS)
      test.info().annotations.push({ type: 'actions to the first decision', description: String(actions) })
    } finally {
      await context.close()
      demo.kill()
      await once(demo, 'exit')
      const killed = spawn(program('sayso'), ['kill-all', '--state-dir', join(folder, 'state')], { env: environment })
      await once(killed, 'exit')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    }
  })
}
