import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { BrowserContext, Page } from '@playwright/test'

import { App } from '../app.ts'
import { expect, test } from '../fixtures.ts'
import { root } from '../machine.ts'
import { ask, bash, fetchPage, plan, prompt, question, type Script, text, tool } from '../script.ts'
import { type Server, startModel, startServer } from '../server.ts'
import { REST } from '../wire.ts'

const limiter = `package signin

import "time"

// Limiter lets one address try at most Burst times in Window.
type Limiter struct {
	Burst  int
	Window time.Duration
}
`

const approval: Script = {
  replies: [
    [text('I will look at how sign-in is limited today.'), tool('Read', { file_path: '{{cwd}}/signin/limiter.go' })],
    [
      text(
        'The limiter counts attempts **per address**, but the window never moves: after `Window` the count starts at zero, so twice as many attempts fit around the edge. I will let it slide, and test that.',
      ),
      tool('Edit', {
        file_path: '{{cwd}}/signin/limiter.go',
        old_string: '// Limiter lets one address try at most Burst times in Window.',
        new_string: '// Limiter lets one address try at most Burst times in any span of Window.',
      }),
    ],
    [
      text('Now the tests, with the race detector.'),
      bash('go test -race -count=1 ./signin/... && git diff --stat', 'Run the tests of sign-in'),
    ],
    [text('All green.')],
  ],
}

const questions: Script = {
  replies: [
    [
      text('Before I write the migration I need two decisions from you.'),
      ask(
        question('What should happen to sessions that are open during the upgrade?', 'Sessions', [
          ['Keep them', 'The new table takes them over; nobody is signed out.'],
          ['End them', 'Everybody signs in again after the upgrade.'],
          ['Ask each user', 'A banner lets people choose within a week.'],
        ]),
        question(
          'Which databases must it run on?',
          'Databases',
          [
            ['SQLite', 'What a single server runs on.'],
            ['PostgreSQL', 'What teams run on.'],
          ],
          true,
        ),
      ),
    ],
  ],
}

const planned: Script = {
  replies: plan(
    '# Let the limiter slide\n\n1. Keep the times of the last `Burst` attempts for each address, in a ring.\n2. Refuse while the oldest of them is younger than `Window`.\n3. Test the edge of the window, and 64 callers at once.\n\nNothing else changes: the settings keep their names.',
  ),
}

const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const

async function shoot(page: Page, name: string, only?: keyof typeof sizes) {
  mkdirSync(`${root}docs/screenshots`, { recursive: true })
  for (const size of ['desktop', 'phone'] as const) {
    if (only && only !== size) continue
    await page.setViewportSize(sizes[size])
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      await page.waitForTimeout(1200) // cards take decisions only after a moment
      await page.screenshot({ path: `${root}docs/screenshots/${name}-${size}${scheme === 'dark' ? '-dark' : ''}.png` })
    }
  }
}

interface Scene {
  server: Server
  rest: REST
  project: string
}

async function scene(
  script: Script,
  claudePath: string,
  http: ConstructorParameters<typeof REST>[0],
  signIn: (context: BrowserContext, to: Server) => Promise<void>,
  page: Page,
  use: (s: Scene) => Promise<void>,
) {
  const model = await startModel(script)
  // A short path reads better. The start fails when the folder is there already.
  const server = await startServer({
    claudePath,
    modelURL: model.url,
    workspace: join(realpathSync(tmpdir()), 'projects'),
  })
  const project = join(server.workspace, 'shop')
  mkdirSync(join(project, 'signin'), { recursive: true })
  writeFileSync(join(project, 'signin', 'limiter.go'), limiter)
  try {
    await signIn(page.context(), server)
    await use({ server, rest: new REST(http, server), project })
  } finally {
    await page.close()
    await server.stop()
    await model.stop()
  }
}

test('a session that waits for an approval', async ({ page, claudePath, request, signIn }) => {
  await scene(approval, claudePath, request, signIn, page, async ({ server, rest, project }) => {
    await rest.start(prompt('x', [ask(question('Which licence?', 'Licence', ['MIT', 'Apache-2.0']))]), {
      cwd: project,
      title: 'Pick a licence for the plugins',
    })
    await rest.start(prompt('x', [fetchPage('changelog'), fetchPage('advisories')]), {
      cwd: project,
      title: 'Read what changed upstream',
    })
    await rest.start(prompt('x', { blocks: [text('…')], delay_ms: 60_000 }), {
      cwd: project,
      title: 'Rename Basket to Cart',
    })
    const done = await rest.start(prompt('x', [text('Done.')]), { cwd: project, title: 'Explain the retry loop' })
    await expect.poll(async () => (await rest.state(done)).state, { timeout: 30_000 }).toBe('user_turn')
    const id = await rest.start('The sign-in limiter lets too many attempts through. Find out why and mend it.', {
      cwd: project,
      title: 'Mend the sign-in limiter',
    })
    const app = await App.openSession(page, id, server.url)
    await app.approve(app.card('Edit'))
    await expect(app.card('go test')).toBeVisible()
    await shoot(page, 'session')

    await page.getByRole('link', { name: 'Back to sessions' }).click()
    await shoot(page, 'list', 'phone')

    await page.goto(`${server.url}/inbox/${(await rest.state(id)).pending_requests[0]!.request_id}`)
    await expect(app.card('go test')).toBeVisible()
    await shoot(page, 'inbox')
    await page.goto(`${server.url}/sessions/${id}`)
    await expect(app.card('go test')).toBeVisible()
    for (const [keys, name, picture] of [
      ['Control+k', 'Search sessions and actions', 'palette'],
      ['?', 'Keyboard shortcuts', 'keys'],
      ['/', '', 'search'],
    ] as const) {
      await page.setViewportSize(sizes.desktop)
      await page.getByRole('feed').focus()
      await page.keyboard.press(keys)
      const opened = name ? page.getByRole('dialog', { name }) : page.getByRole('main').getByRole('search')
      await expect(opened).toBeVisible()
      if (!name) await page.keyboard.type('limiter')
      await shoot(page, picture)
      await page.keyboard.press('Escape')
    }
    await page.goto(`${server.url}/sessions/${id}/plain`)
    await shoot(page, 'plain')
  })
})

test('settings and the admin area', async ({ page, claudePath, request, signIn }) => {
  test.setTimeout(180_000)
  await scene(approval, claudePath, request, signIn, page, async ({ server, rest, project }) => {
    for (const [name, role] of [
      ['ada', 'member'],
      ['grace', 'member'],
      ['edsger', 'viewer'],
    ])
      await rest.post('/api/users', { name, role })
    await rest.post('/api/projects', { name: 'Shop', folders: [project] })
    await rest.post('/api/tokens', { name: 'deploy script', scope: 'member', expires_in: 30 * 86_400 })
    await rest.start(prompt('x', [bash('make test', 'Run the tests')], [text('Done.')]), {
      cwd: project,
      title: 'Mend the sign-in limiter',
    })
    await rest.start(prompt('x', { blocks: [text('…')], delay_ms: 60_000 }), {
      cwd: project,
      title: 'Rename Basket to Cart',
    })
    await App.home(page, server.url)
    for (const [address, heading] of [
      ['settings', 'Settings'],
      ['admin/processes', 'Processes'],
      ['admin/people', 'People'],
      ['admin/tokens', 'Tokens'],
      ['admin/projects', 'Projects'],
      ['admin/grants', 'Permissions'],
      ['admin/folders', 'Trusted folders'],
      ['admin/audit', 'Audit log'],
      ['admin/settings', 'Server settings'],
    ] as const) {
      await page.goto(`${server.url}/${address}`)
      await expect(page.getByRole('heading', { name: heading, level: 1 })).toBeVisible()
      await shoot(page, address.replace('/', '-'))
    }
    await page.setViewportSize(sizes.desktop)
    await page.getByRole('button', { name: /^Account/ }).click()
    await expect(page.getByRole('dialog')).toBeVisible()
    await shoot(page, 'account')
    await page.context().clearCookies()
    await page.goto(`${server.url}/sign-in`)
    await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible()
    await shoot(page, 'sign-in')
  })
})

test('a session with questions', async ({ page, claudePath, request, signIn }) => {
  await scene(questions, claudePath, request, signIn, page, async ({ server, rest, project }) => {
    const id = await rest.start('Write the migration for the new session table.', {
      cwd: project,
      title: 'Migrate the session table',
    })
    const app = await App.openSession(page, id, server.url)
    await app.card().getByRole('radio', { name: 'Keep them' }).check()
    await shoot(page, 'questions')
  })
})

test('a session with a plan', async ({ page, claudePath, request, signIn }) => {
  await scene(planned, claudePath, request, signIn, page, async ({ server, rest, project }) => {
    const id = await rest.start('Plan how to make the limiter slide.', {
      cwd: project,
      permission_mode: 'plan',
      title: 'A limiter that slides',
    })
    const app = await App.openSession(page, id, server.url)
    await expect(app.card().getByText('Nothing else changes')).toBeVisible()
    await shoot(page, 'plan', 'desktop')
  })
})

test('two tabs, answered in the other one', async ({ page, claudePath, request, signIn }) => {
  const script: Script = { replies: [[fetchPage('one')], [text('Fine.')]] }
  await scene(script, claudePath, request, signIn, page, async ({ server, rest, project }) => {
    const id = await rest.start('Look it up.', { cwd: project, title: 'Look it up' })
    const here = await App.openSession(page, id, server.url)
    const there = await App.openSession(await page.context().newPage(), id, server.url)
    await expect(here.card()).toBeVisible()
    await there.deny(there.card(), 'Not from here.')
    await expect(here.answeredElsewhere()).toBeVisible()
    await shoot(page, 'elsewhere', 'desktop')
    await there.page.close()
  })
})

test('the new session, without a Claude account', async ({ page, claudePath, model, signIn }) => {
  const server = await startServer({ claudePath, modelURL: model.url, apiKey: '' })
  try {
    await signIn(page.context(), server)
    await App.home(page, server.url)
    await expect(page.getByText('not signed in').filter({ visible: true }).first()).toBeVisible()
    await shoot(page, 'no-account')
    await page.setViewportSize(sizes.desktop)
    await page.getByRole('button', { name: 'New session' }).first().click()
    await shoot(page, 'new-session')
  } finally {
    await page.close()
    await server.stop()
  }
})
