import { defineConfig } from '@playwright/test'

import { chromium, chromiumArguments, claude, everything, firefox, root } from './machine.ts'
import type { ServerOptions } from './fixtures.ts'

export const base = {
  browserName: 'chromium',
  headless: true,
  launchOptions: { executablePath: chromium(), args: chromiumArguments },
  viewport: { width: 1280, height: 800 },
  actionTimeout: 30_000,
} as const

export default defineConfig<object, ServerOptions>({
  testDir: 'tests',
  outputDir: 'test-results',
  // These limits are against what hangs only: a slow machine that does something else beside takes its time.
  timeout: 180_000,
  // What a snapshot does not name is not there.
  expect: {
    timeout: 30_000,
    toMatchAriaSnapshot: { children: 'deep-equal' },
    toHaveScreenshot: { pathTemplate: '{testDir}/{testFileName}-snapshots/{arg}{ext}' },
  },
  fullyParallel: true,
  workers: 2,
  // A second try tells a slow machine from a fault; what needed one is printed by name at the end.
  retries: 1,
  forbidOnly: true,
  reporter: 'list',
  // What moves for ever is drawn without a graphics card here: a tenth of a processor for each open page.
  // A page lives for seconds: what the optimizing compilers of V8 take is more than they give.
  use: {
    ...base,
    launchOptions: { ...base.launchOptions, args: [...chromiumArguments, '--js-flags=--no-opt'] },
    screenshot: 'only-on-failure',
    trace: 'on-first-retry',
    contextOptions: { reducedMotion: 'reduce' },
  },
  projects: [
    {
      name: 'claude-2.1.329',
      // What another test sees too, more slowly or in fewer places, waits for the night.
      ...(everything ? {} : { grepInvert: /@nightly/ }),
      use: { claudePath: claude('2.1.329', 'SAYSO_TEST_CLAUDE_NEW') },
    },
    // In `make test` the older CLI runs what is tagged @older; in `make test-all` every test but those
    // tagged @newest, which are about the app and the same with whatever CLI.
    {
      name: 'claude-2.1.197',
      ...(everything ? { grepInvert: /@newest/ } : { grep: /@older/ }),
      use: { claudePath: claude('2.1.197', 'SAYSO_TEST_CLAUDE_OLD') },
    },
    // In `make test-all` other browsers run the most important tests: Firefox, over WebDriver BiDi, those
    // tagged @browsers, and WebKitGTK, which no Playwright drives, flows of its own.
    ...(everything
      ? [
          {
            name: 'firefox',
            grep: /@browsers/,
            use: {
              claudePath: claude('2.1.329', 'SAYSO_TEST_CLAUDE_NEW'),
              browserName: 'firefox',
              channel: 'moz-firefox',
              launchOptions: {
                executablePath: `${root}e2e/firefox.mjs`,
                env: { ...(process.env as Record<string, string>), SAYSO_TEST_FIREFOX: firefox() },
                // A desk with a mouse, and somebody whom moving things disturb.
                firefoxUserPrefs: {
                  'ui.prefersReducedMotion': 1,
                  'ui.primaryPointerCapabilities': 6,
                  'ui.allPointerCapabilities': 6,
                },
              },
              contextOptions: {},
              screenshot: 'off', // it would be taken with a style that the page forbids
            },
          } as const,
          {
            name: 'webkit',
            testDir: 'webkit',
            use: { claudePath: claude('2.1.329', 'SAYSO_TEST_CLAUDE_NEW') },
          },
        ].filter((one) => one.name !== 'webkit' || process.platform === 'linux')
      : []),
  ],
})
