/**
 * Matches the files of clouds and platforms that every process loads: names and configuration, but no client.
 */
export const PROVIDER_FILES =
  /^(src\/clouds\/(config-fields|provider|providers|object-name|ownership-claim|switch|[a-z-]+\/(config|convert-stock-file|firewall-settings|label-selector|labels-from-tags|load-balancer-config|load-balancer-settings|node-keys|ocid|provider|quota-settings|quotas|regions|session-policy|session-purpose|sort-order))|src\/platforms\/secrets\/reference)\.ts$/;
