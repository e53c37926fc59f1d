/**
 * Oracle's short keys of regions, used in instances and older configurations, from the list in Oracle's
 * documentation. A region that is missing here needs its full name.
 */
const REGIONS_BY_KEY: Readonly<Record<string, string>> = {
  ams: "eu-amsterdam-1",
  arn: "eu-stockholm-1",
  auh: "me-abudhabi-1",
  bog: "sa-bogota-1",
  bom: "ap-mumbai-1",
  cdg: "eu-paris-1",
  cwl: "uk-cardiff-1",
  dxb: "me-dubai-1",
  fra: "eu-frankfurt-1",
  gru: "sa-saopaulo-1",
  hyd: "ap-hyderabad-1",
  iad: "us-ashburn-1",
  icn: "ap-seoul-1",
  jed: "me-jeddah-1",
  jnb: "af-johannesburg-1",
  kix: "ap-osaka-1",
  lhr: "uk-london-1",
  lin: "eu-milan-1",
  mad: "eu-madrid-1",
  mel: "ap-melbourne-1",
  mrs: "eu-marseille-1",
  mtz: "il-jerusalem-1",
  mty: "mx-monterrey-1",
  nrt: "ap-tokyo-1",
  ord: "us-chicago-1",
  phx: "us-phoenix-1",
  qro: "mx-queretaro-1",
  ruh: "me-riyadh-1",
  scl: "sa-santiago-1",
  sin: "ap-singapore-1",
  sjc: "us-sanjose-1",
  syd: "ap-sydney-1",
  vap: "sa-valparaiso-1",
  vcp: "sa-vinhedo-1",
  xsp: "ap-singapore-2",
  yny: "ap-chuncheon-1",
  yul: "ca-montreal-1",
  yyz: "ca-toronto-1",
  zrh: "eu-zurich-1",
};

/** All full names. */
export const KNOWN_REGIONS: readonly string[] = Object.values(REGIONS_BY_KEY).toSorted();

/** Returns the region's full name for its full name or short key; undefined for other texts. */
export function findRegion(text: string): string | undefined {
  if (/^[a-z]{2,8}(-[a-z]+)+-\d{1,2}$/.test(text)) return text;
  return Object.hasOwn(REGIONS_BY_KEY, text) ? REGIONS_BY_KEY[text] : undefined;
}

/**
 * Returns the domain of a realm's API hosts, by the realm of the tenancy's OCID; undefined for an unknown
 * realm.
 */
export function getRealmDomain(realm: string): string | undefined {
  return Object.hasOwn(DOMAINS_BY_REALM, realm) ? DOMAINS_BY_REALM[realm] : undefined;
}

const DOMAINS_BY_REALM: Readonly<Record<string, string>> = {
  oc1: "oraclecloud.com",
  oc2: "oraclegovcloud.com",
  oc3: "oraclegovcloud.com",
  oc4: "oraclegovcloud.uk",
  oc8: "oraclecloud8.com",
  oc9: "oraclecloud9.com",
  oc10: "oraclecloud10.com",
};

/** Whether a text is the OCID of a resource of one of these types; nothing else may become part of a path. */
export function isOcid(text: string, ...types: readonly string[]): boolean {
  const type = /^ocid1\.([a-z]+)\.[a-z0-9]+\.[A-Za-z0-9-]*\.[A-Za-z0-9._-]+$/.exec(text)?.[1];
  return type !== undefined && types.includes(type) && text.length <= MAX_LENGTH;
}

/** Returns the realm in an OCID, such as `oc1`. */
export function getRealm(ocid: string): string {
  return ocid.split(".")[2] ?? "";
}

/** Oracle's maximum. */
const MAX_LENGTH = 255;
