import { shallowRef } from 'vue'
import type { Environment } from '@/wire/messages.gen'
import { rest } from '@/connection/rest'

/** The environment in which sessions run; null until the server has sent it. */
export const environment = shallowRef<Environment | null>(null)

export async function loadEnvironment(): Promise<void> {
  environment.value = await rest.environment()
}
