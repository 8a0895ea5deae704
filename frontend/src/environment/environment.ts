import { shallowRef } from 'vue'
import type { Environment } from '@/wire/messages.gen'
import { rest } from '@/connection/rest'

/** What sessions can run on here; null until the server has said. */
export const environment = shallowRef<Environment | null>(null)

export async function loadEnvironment(): Promise<void> {
  environment.value = await rest.environment()
}
