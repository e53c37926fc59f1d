/** Connections and requests to AWS, in milliseconds; without `throwOnRequestTimeout` the SDK only logs that it waits too long. */
export const HTTP_TIMEOUTS = {
  connectionTimeout: 2_000,
  requestTimeout: 10_000,
  throwOnRequestTimeout: true,
};
