import { defineAsyncComponent } from 'vue'

// Rare, so it loads on demand.
export const Visit = defineAsyncComponent(() => import('./Visit.vue'))
