/** What a person says to the settings of a folder, as the commands that start Claude carry it. */
export type Consent = { trust: string } | { without_settings: true }
