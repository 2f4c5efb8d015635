/* ---- the beginning ---- */

/* The token of the address is exchanged for a cookie by now: it need not stand there any longer. */
if (location.search)
  history.replaceState(null, '', location.pathname);

window.addEventListener('error', event => {
  byId('status').textContent = event.message;
  byId('status').classList.add('bad');
});

try {
  window.repose = new App();
} catch (error) {
  byId('status').textContent = error.message;
  byId('status').classList.add('bad');
}
