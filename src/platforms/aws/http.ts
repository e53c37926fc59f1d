/**
 * Timeouts of connections and requests to AWS, in milliseconds. Without `throwOnRequestTimeout` the SDK only
 * logs a slow request.
 */
export const HTTP_TIMEOUTS = {
  connectionTimeout: 2_000,
  requestTimeout: 10_000,
  throwOnRequestTimeout: true,
};
