// Takes the moving picture of the README: `make readme-picture`.
import { defineConfig } from '@playwright/test'

import type { ServerOptions } from './fixtures.ts'
import { claude } from './machine.ts'
import { base } from './playwright.config.ts'

export default defineConfig<object, ServerOptions>({
  testDir: 'screenshots',
  outputDir: 'test-results',
  timeout: 90_000,
  expect: { timeout: 30_000 },
  workers: 1,
  use: { ...base, locale: 'en-GB', timezoneId: 'UTC' },
  projects: [{ name: 'pictures', use: { claudePath: claude('2.1.329', 'SAYSO_TEST_CLAUDE_NEW') } }],
})
