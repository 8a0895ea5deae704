import { shallowRef } from 'vue'
import type { Environment } from '@/wsapi/messages.gen'
import { rest } from '@/wsapi/rest'

/** What sessions can run on here; null until the server has said. */
export const environment = shallowRef<Environment | null>(null)

export async function loadEnvironment(): Promise<void> {
  environment.value = await rest.environment()
}
