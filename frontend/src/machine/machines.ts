import { computed, type ComputedRef } from 'vue'
import { translate } from '@/i18n'
import { ago } from '@/i18n/format'
import { useSessions } from '@/state/sessions'
import type { Machine } from '@/wire/messages.gen'
import { words } from './words'

/** The runner_id with which the server chooses the machine. */
export const ANY = 'any'

export type MachineState = keyof typeof words.states

type Described = Pick<
  Machine,
  'name' | 'state' | 'seen_at' | 'paused' | 'draining' | 'processes' | 'max_processes' | 'problem' | 'reasons'
>

/** stateOf returns the state of a machine. Only a ready one accepts new sessions. */
export function stateOf(m: Described): MachineState {
  if (m.state === 'unreachable') return 'unreachable'
  if (m.draining) return 'draining'
  if (m.paused) return 'paused'
  if (m.problem !== null) return 'problem'
  return m.max_processes > 0 && m.processes >= m.max_processes ? 'full' : 'ready'
}

/** whyNot returns why a machine accepts no new sessions; '' if it does. now is the server's time in seconds. */
export function whyNot(m: Described, now: number): string {
  switch (stateOf(m)) {
    case 'ready':
      return ''
    case 'unreachable':
      return m.seen_at === null
        ? words.why.unreachable(m.name)
        : words.why.unreachableSince(m.name, ago(Math.max(0, now - m.seen_at)))
    case 'problem':
      return translate(m, 'problem')
    case 'full':
      return words.why.full(m.name, m.max_processes)
    case 'paused':
      return words.why.paused(m.name)
    case 'draining':
      return words.why.draining(m.name)
  }
}

/** Machines is the result of useMachines. */
interface Machines {
  machines: ComputedRef<readonly Machine[]>
  several: ComputedRef<boolean>
  /** Whether the server starts no sessions itself. */
  onlyElsewhere: ComputedRef<boolean>
  /** Whether sessions cannot start, because no machine is connected. */
  nowhere: ComputedRef<boolean>
}

/** useMachines returns the machines on which sessions run. */
export function useMachines(): Machines {
  const store = useSessions()
  const machines = computed(() => store.state.machines ?? [])
  const onlyElsewhere = computed(() => store.state.machines !== null && !machines.value.some((m) => m.here))
  return {
    machines,
    several: computed(() => machines.value.length > 1),
    onlyElsewhere,
    nowhere: computed(() => onlyElsewhere.value && !machines.value.some((m) => m.state === 'ready')),
  }
}
