import { computed, shallowRef, watch, type Ref } from 'vue'
import { rest } from '@/connection/rest'
import { ANY, stateOf, useMachines } from '@/machine/machines'
import { useSessions } from '@/state/sessions'
import type { Machine } from '@/wire/messages.gen'

/** What a form remembers of its choice. */
export interface MachineForm {
  /** The runner_id, or ANY; missing for this server. */
  machine?: string
  labels?: string[]
}

/** useMachineChoice returns the machines for a new session, the chosen one, and those that other fields read from. */
export function useMachineChoice(form: Ref<MachineForm>) {
  // The machines with the current problems of their CLIs. For everything else, the list of the socket is newer.
  const { machines: known, several, onlyElsewhere, nowhere } = useMachines()
  const checked = shallowRef<readonly Machine[]>([])
  // The only machine needs no row, unless it may be offline or full while this server is not.
  const choosable = computed(() => several.value || onlyElsewhere.value)
  watch(
    [known, choosable],
    async ([, more]) => {
      if (more) checked.value = (await rest.machines().catch(() => null))?.machines ?? checked.value
    },
    { immediate: true },
  )
  const machines = computed(() =>
    known.value.map((m) => {
      const now = checked.value.find((c) => c.runner_id === m.runner_id)
      return now ? { ...m, problem: now.problem, ...(now.reasons ? { reasons: now.reasons } : {}) } : m
    }),
  )
  const machine = computed({
    get: () => {
      if (!choosable.value) return ''
      const { machine: chosen } = form.value
      if (chosen === ANY || machines.value.some((m) => m.runner_id === chosen)) return chosen!
      const preset = machines.value.find((m) => m.here) ?? (several.value ? undefined : machines.value[0])
      return preset?.runner_id ?? ANY
    },
    set: (to) => (form.value.machine = to),
  })
  const machineLabels = computed({
    get: () => form.value.labels ?? [],
    set: (to) => (form.value.labels = to),
  })
  const chosenMachine = computed(() => machines.value.find((m) => m.runner_id === machine.value))
  /** The machine for calls about folders: '' for this server, null while the server chooses one. */
  const folderMachine = computed(() =>
    machine.value === ANY ? null : chosenMachine.value === undefined || chosenMachine.value.here ? '' : machine.value,
  )
  /** The same, but null also while the machine is offline. */
  const onlineMachine = computed(() => (chosenMachine.value?.state === 'unreachable' ? null : folderMachine.value))
  // Proposes the machine of the person's last session, if it accepts another one.
  const lastNode = useSessions()
    .all.filter((s) => !s.demo && s.cwd !== '')
    .toSorted((a, b) => b.updated_at - a.updated_at)[0]?.node_id
  /** The machine for models and completion: the chosen one, or this server or a ready one instead; null without one. */
  const catalogMachine = computed(
    () =>
      onlineMachine.value ??
      (onlyElsewhere.value || folderMachine.value !== null
        ? (machines.value.find((m) => stateOf(m) === 'ready')?.runner_id ?? null)
        : ''),
  )
  const lastMachine = machines.value.find((m) => m.name === lastNode)
  if (
    form.value.machine === undefined &&
    several.value &&
    lastMachine &&
    !lastMachine.here &&
    stateOf(lastMachine) === 'ready'
  )
    form.value.machine = lastMachine.runner_id

  return {
    machines,
    machine,
    machineLabels,
    chosenMachine,
    folderMachine,
    onlineMachine,
    catalogMachine,
    choosable,
    nowhere,
  }
}
