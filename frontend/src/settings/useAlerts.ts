import { computed, onMounted, reactive, ref, shallowRef } from 'vue'
import { errorMessage } from '@/connection/errorMessage'
import { useAction } from '@/connection/useAction'
import { language, translate } from '@/i18n'
import type { AlertChoices, Alerts, AlertTarget, AlertTargetCreate } from '@/wire/messages.gen'
import { alerts, type Whose } from './rest'
import { words } from './words'

/** Why an action failed, as a message for the person. */
export class Problem extends Error {}

/** Quiet hours as in the form; on reports whether they are used. */
export interface QuietHours {
  on: boolean
  from: string
  to: string
  zone: string
}

/** useAlerts loads and changes the notifications of a person or the server, one action at a time. */
export function useAlerts(whose: Whose) {
  const known = shallowRef<Alerts | null>(null)
  const choices = ref<AlertChoices | null>(null)
  const quiet = ref<QuietHours>({ on: false, from: '22:00', to: '07:00', zone: '' })
  const {
    busy: running,
    error,
    done,
    run,
  } = useAction((err) => (err instanceof Problem ? err.message : errorMessage(err)))
  const which = ref('')
  const busy = computed(() => (running.value ? which.value : ''))
  const browsers = computed(() => known.value?.targets.filter((x) => x.way === 'push') ?? [])
  const places = computed(() => known.value?.targets.filter((x) => x.way !== 'push') ?? [])

  /** runAs runs an action; the button named by what is busy meanwhile. */
  function runAs(what: string, action: () => Promise<string | void>) {
    if (!running.value) which.value = what
    return run(action)
  }

  async function reload() {
    known.value = await alerts.get(whose)
  }
  onMounted(() =>
    runAs('load', async () => {
      await reload()
      const c = known.value!.choices
      choices.value = c
      Object.assign(
        quiet.value,
        c.quiet ? { on: true, ...c.quiet } : { zone: Intl.DateTimeFormat().resolvedOptions().timeZone },
      )
    }),
  )

  const save = () =>
    runAs('save', async () => {
      const { on, ...hours } = quiet.value
      await alerts.choose(whose, { ...choices.value!, quiet: on ? hours : null, language: language.value })
      return words.alerts.saved
    })

  /** add adds the target that make returns, and reports whether it succeeded. */
  const add = (what: string, make: () => Promise<AlertTargetCreate>, said?: () => string) =>
    runAs(what, async () => {
      await alerts.add(whose, await make())
      await reload()
      return said?.()
    })

  const remove = (x: AlertTarget) =>
    runAs(x.target_id, async () => {
      await alerts.remove(whose, x.target_id)
      await reload()
    })

  const test = (x: AlertTarget) =>
    runAs(x.target_id, async () => {
      const result = await alerts.test(whose, x.target_id)
      if (!result.problem) return words.devices.tested(x.name)
      await reload()
      throw new Problem(words.devices.testFailed(x.name, translate(result, 'problem')))
    })

  return reactive({ known, choices, quiet, busy, error, done, browsers, places, save, add, remove, test })
}
export type AlertsState = ReturnType<typeof useAlerts>
