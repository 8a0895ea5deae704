import { inLanguage } from '@/i18n'
import { words as english } from './words.en'

export const words = inLanguage('machine', english)
