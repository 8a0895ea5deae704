import { defineConfig } from '@playwright/test'

import { chromium, chromiumArguments, claude } from './machine.ts'
import type { ServerOptions } from './fixtures.ts'

export const base = {
  browserName: 'chromium',
  headless: true,
  launchOptions: { executablePath: chromium(), args: chromiumArguments },
  viewport: { width: 1280, height: 800 },
  actionTimeout: 15_000,
} as const

export default defineConfig<object, ServerOptions>({
  testDir: 'tests',
  outputDir: 'test-results',
  timeout: 90_000,
  expect: { timeout: 20_000 },
  fullyParallel: true,
  workers: 2,
  retries: 0,
  forbidOnly: true,
  reporter: 'list',
  use: { ...base, screenshot: 'only-on-failure' },
  projects: [
    { name: 'claude-2.1.329', use: { claudePath: claude('2.1.329', 'SAYSO_TEST_CLAUDE_NEW') } },
    { name: 'claude-2.1.197', use: { claudePath: claude('2.1.197', 'SAYSO_TEST_CLAUDE_OLD') } },
  ],
})
