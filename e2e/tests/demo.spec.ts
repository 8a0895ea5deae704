import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { startServer } from '../server.ts'
import { REST } from '../wire.ts'

// The way from the demo to its first decision is in every run: firstrun.spec.ts.
test('the demo runs without an account: a command, a file, an edit, a plan, questions, two subagents @nightly', async ({
  page,
  context,
  claudePath,
  model,
  request,
  signIn,
}) => {
  const server = await startServer({ claudePath, modelURL: model.url, apiKey: '' })
  try {
    await signIn(context, server)
    const rest = new REST(request, server)
    const app = await App.home(page, server.url)
    await app.demoButton().click()
    await expect(page).toHaveURL(/\/sessions\//)
    const id = page.url().split('/').pop() ?? ''

    const asked: string[] = []
    let together = 0
    for (;;) {
      await expect
        .poll(
          async () => {
            const { state, pending_requests } = await rest.state(id)
            return pending_requests.length > 0 || state === 'user_turn'
          },
          { timeout: 90_000 },
        )
        .toBe(true)
      const { pending_requests } = await rest.state(id)
      if (pending_requests.length === 0) break
      const agents = pending_requests.filter((r) => r.agent_id !== null)
      if (agents.length > 0 && !asked.some((a) => a.startsWith('agent'))) {
        await expect(app.cards()).toHaveCount(2)
        together = 2
      }
      asked.push((agents.length > 0 ? 'agent ' : '') + pending_requests[0].tool_name)
      await app.sayYes()
    }

    expect(asked).toEqual([
      'Bash',
      'Write',
      'Edit',
      ...asked.filter((a) => a === 'EnterPlanMode'),
      'ExitPlanMode',
      'AskUserQuestion',
      'agent Bash',
      'agent Bash',
    ])
    expect(together).toBe(2)
    const greetings = join(server.folder, 'state', 'demo', 'work', 'greetings')
    expect(existsSync(join(greetings, 'greet.sh'))).toBe(true)
    expect(readFileSync(join(greetings, 'fr.txt'), 'utf8')).toBe('Bonjour de sayso\n')
    expect(readFileSync(join(greetings, 'de.txt'), 'utf8')).toBe('Hallo von sayso\n')
  } finally {
    await page.close()
    await server.stop()
  }
})
