// @vitest-environment jsdom
import { mount } from '@vue/test-utils'
import { createPinia } from 'pinia'
import { expect, test } from 'vitest'
import type { Runner } from '@/wire/messages.gen'
import MachineCard from './MachineCard.vue'

test('a machine says how many sessions wait because it cannot store their output', () => {
  const show = (waiting: number) => {
    const runner: Runner = {
      runner_id: 'r',
      name: 'build-02',
      state: 'ready',
      paused: false,
      draining: false,
      processes: 3,
      problem: null,
      release: '0.1.0',
      epoch: 1,
      seen_at: 1,
      remote: true,
      has_token: true,
      labels_given: false,
      labels: [],
      roots: [],
      clis: [],
      capacity: { processes: 0, memory: 0, cores: 0 },
      clock_skew: 0,
      load: { processes: 3, load: 0, free_memory: 0, free_disk: 0, waiting },
    }
    return mount(MachineCard, {
      props: { runner, here: false, busy: false },
      global: { plugins: [createPinia()] },
    }).text()
  }
  expect(show(0)).not.toContain('waiting')
  expect(show(2)).toContain('2 sessions are waiting because the output can’t be stored on this machine.')
})
