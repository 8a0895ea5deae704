import { shallowRef } from 'vue'
import { call, onMachine } from '@/connection/rest'
import { t } from '@/i18n'
import type { Catalog, CatalogModel, ModelList } from '@/wire/messages.gen'
import { MODELS } from './modes'
import { words } from './words'

/** The models that the latest CLI of the machine of a new session reported; empty until one is known. */
export const models = shallowRef<readonly CatalogModel[]>([])

/** Loads models. Without them, a model is chosen by its name. */
export async function loadModels(runnerID = ''): Promise<void> {
  const mine = ++latest
  const list = await call<ModelList>('GET', `/api/models${onMachine('?', runnerID)}`).catch(() => null)
  if (list && mine === latest) models.value = list.models
}
let latest = 0

/** Returns what the CLI of a session offers. */
export const loadCatalog = (sessionID: string): Promise<Catalog> =>
  call<Catalog>('GET', `/api/sessions/${encodeURIComponent(sessionID)}/catalog`)

/** The CLI's name for its default model, which is '' here. */
const DEFAULT = 'default'

/** Returns the models to choose from, the default first, and the one that corresponds to current. */
export function modelOptions(offered: readonly CatalogModel[], current: string) {
  const row = offered.find((m) => m.value === current) ?? offered.find((m) => m.resolved_model === current)
  const value = row?.value === DEFAULT ? '' : (row?.value ?? current)
  const others = offered.filter((m) => m.value !== DEFAULT)
  const options = [
    {
      value: '',
      label: t.session.defaultModel,
      description: offered.find((m) => m.value === DEFAULT)?.description ?? words.modelDescription(''),
    },
    ...(offered.length > 0
      ? others.map((m) => ({ value: m.value, label: m.display_name || m.value, description: m.description }))
      : MODELS.map((m) => ({ value: m, label: m, description: words.modelDescription(m) }))),
  ]
  // A model that was set by name.
  if (!options.some((o) => o.value === value)) options.push({ value, label: value, description: '' })
  return { value, options }
}
