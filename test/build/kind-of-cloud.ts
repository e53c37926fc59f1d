/** Of the clouds, what every process knows at once: how they are called and configured. What it takes to ask them is not among it. */
export const KIND_OF_CLOUD =
  /^clouds\/(base-url|kind|kinds|object-name|ownership-claim|secrets\/reference|switch|[a-z-]+\/(firewall-settings|from-stock-file|kind|label-selector|labels-from-tags|load-balancer-config|load-balancer-settings|node-keys|ocid|quota-settings|quotas|regions|session-policy|sort-order))\.ts$/;
