import os, site, sys
folders = site.getsitepackages([sys.base_prefix, sys.base_exec_prefix])
if not os.environ.get('PYTHONNOUSERSITE'):
    folders.append(site.getusersitepackages())
for name in ('PYTHONPATH', 'NIX_PYTHONPATH'):
    folders += filter(os.path.isabs, os.environ.get(name, '').split(os.pathsep))
watched = [os.path.join(sys.prefix, 'pyvenv.cfg')]
for folder in list(folders):
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith('.pth'))
    except OSError:
        continue
    for name in names:
        watched.append(os.path.join(folder, name))
        try:
            with open(watched[-1], encoding='utf-8', errors='surrogateescape') as lines:
                folders += [os.path.join(folder, line.rstrip()) for line in lines
                            if line.strip() and not line.startswith(('#', 'import ', 'import\t'))]
        except OSError:
            pass
has_kernel = any(os.path.isfile(os.path.join(folder, 'ipykernel', '__init__.py')) for folder in folders)
lines = ['%d.%d %d' % (sys.version_info[0], sys.version_info[1], has_kernel), sys.executable] + watched
for folder in folders:
    lines += [folder, os.path.join(folder, 'ipykernel')]
sys.stdout.buffer.write(os.fsencode('\n'.join(lines)))
